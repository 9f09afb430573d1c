package loadtest

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
)

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   Spread
	}{
		{[]float64{3}, Spread{3, 3, 3, 1}},
		{[]float64{5, 1}, Spread{1, 3, 5, 2}},
		{[]float64{9, 1, 4}, Spread{1, 4, 9, 3}},
		{[]float64{4, 1, 9, 2}, Spread{1, 3, 9, 4}},
	} {
		if got := spreadOf(c.values); got != c.want {
			t.Errorf("spreadOf(%v) = %+v, want %+v", c.values, got, c.want)
		}
	}
}

func TestMet(t *testing.T) {
	limit := 1.15
	points := func(y ...float64) (p []Point) {
		for i, v := range y {
			p = append(p, Point{X: float64(i), Y: Spread{Median: v}})
		}
		return p
	}
	for _, c := range []struct {
		name       string
		s          Series
		met, known bool
	}{
		{"no limit", Series{Points: points(1)}, true, false},
		{"below", Series{Points: points(1, 1.15), AtMost: &limit}, true, true},
		{"one above", Series{Points: points(1, 1.2), AtMost: &limit}, false, true},
		{"enough", Series{Points: points(2, 1.15), AtLeast: &limit}, true, true},
		{"too little", Series{Points: points(1), AtLeast: &limit}, false, true},
	} {
		if met, known := c.s.Met(); met != c.met || known != c.known {
			t.Errorf("%s: met %v, known %v, want %v, %v", c.name, met, known, c.met, c.known)
		}
	}
}

func TestReportRoundTrip(t *testing.T) {
	limit := 0.4
	want := &Report{
		Schema: Schema, Machine: ThisMachine("v1", "generic"),
		Date:    time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Command: "gsimc bench --scenario throughput", Complete: true, Notes: []string{"generated"},
		Series: []Series{{
			Group: "throughput", Name: "Recommend / echo", Unit: "ratio", AtLeast: &limit,
			Points: []Point{{Y: Spread{Min: 0.3, Median: 0.41, Max: 0.5, Repetitions: 5}}},
		}},
	}
	var file bytes.Buffer
	check.Must(t, want.Write(&file))
	got := check.Get(ReadReport(&file))(t)
	check.Same(t, want, got, "report")
	for text, message := range map[string]string{"{": "not a report",
		`{"schema":"gsimc-bench/9"}`: `"gsimc-bench/9", want "gsimc-bench/1"`} {
		if _, err := ReadReport(strings.NewReader(text)); err == nil ||
			!strings.Contains(err.Error(), message) {
			t.Errorf("ReadReport(%s): %v, want %s", text, err, message)
		}
	}
}
