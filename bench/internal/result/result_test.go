package result

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/bench/internal/loadtest"
	"github.com/gsimc/gsimc/internal/test/check"
)

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		samples []float64
		want    Spread
	}{
		{nil, Spread{}},
		{[]float64{3}, Spread{3, 3, 3}},
		{[]float64{5, 1}, Spread{1, 3, 5}},
		{[]float64{9, 1, 4}, Spread{1, 4, 9}},
		{[]float64{4, 1, 9, 2}, Spread{1, 3, 9}},
	} {
		before := append([]float64(nil), c.samples...)
		if got := SpreadOf(c.samples); got != c.want {
			t.Errorf("SpreadOf(%v) = %v, want %v", c.samples, got, c.want)
		}
		check.Same(t, before, c.samples, "the argument of SpreadOf")
	}
}

// TestRatio: the ratio is that of the rounds, not that of the medians, and a round that one of the
// two lacks does not count.
func TestRatio(t *testing.T) {
	for _, c := range []struct {
		a, b []float64
		want Spread
	}{
		{[]float64{2, 30, 400}, []float64{1, 10, 100}, Spread{2, 3, 4}},
		{[]float64{2, 30}, []float64{1, 10, 100}, Spread{2, 2.5, 3}},
		{[]float64{2, 30}, []float64{0, 10}, Spread{3, 3, 3}},
		{nil, []float64{1}, Spread{}},
	} {
		if got := Ratio(c.a, c.b); got != c.want {
			t.Errorf("Ratio(%v, %v) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func TestAdvantage(t *testing.T) {
	series := []Series{
		{Name: "ours", Role: Own, Samples: []float64{2, 2}},
		{Name: "peer", Role: Peer, Samples: []float64{4, 8}},
		{Name: "limit", Role: Limit, Samples: []float64{1, 0.5}},
	}
	time := Group{Ours: "ours", Series: series}
	rate := Group{Ours: "ours", Series: series, Higher: true}
	for _, c := range []struct {
		name  string
		group Group
		of    string
		want  Spread
	}{
		{"a peer that takes two and four times as long", time, "peer", Spread{2, 3, 4}},
		{"a limit that takes half and a quarter of the time", time, "limit", Spread{2, 3, 4}},
		{"a peer that does more", rate, "peer", Spread{0.25, 0.375, 0.5}},
		{"a limit that does less, which none should", rate, "limit", Spread{0.25, 0.375, 0.5}},
		{"nobody to compare with", Group{Ours: "nobody", Series: series}, "peer", Spread{}},
	} {
		if got := c.group.Advantage(c.group.Find(c.of)); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestMemory(t *testing.T) {
	if m := ThisMachine("v1"); m.Memory != "" && MemoryBytes(m) < 1<<20 {
		t.Errorf("%q is %v bytes", m.Memory, MemoryBytes(m))
	}
	check.Same(t, float64(24.5*(1<<30)), MemoryBytes(loadtest.Machine{Memory: "24.5 GiB"}),
		"24.5 GiB in bytes")
}

func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	want := &File{
		Part: "topn", Command: "go run ./peers topn", Seconds: 1.5,
		Date:    time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Machine: ThisMachine("v1"), Notes: []string{"a note"},
		Groups: []Group{{Title: "g", Params: map[string]float64{"n": 2}, Unit: "ms", Ours: "ours",
			Series: []Series{
				{Name: "ours", Role: Own, Samples: []float64{1, 2}},
			}, Checks: []Check{{"c", 1, "one", true}}}},
	}
	check.Must(t, Write(dir, want))
	got := check.Get(Read(filepath.Join(dir, "topn.json")))(t)
	check.Same(t, want, got, "file")
	for content, message := range map[string]string{"{": "measure it again", "{}": "no Part"} {
		path := filepath.Join(dir, "bad.json")
		check.Must(t, os.WriteFile(path, []byte(content), 0o600))
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), message) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("Read of %q: %v, want the path and %q", content, err, message)
		}
	}
}
