package event_test

import (
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/test/check"
)

func TestValidTypeIsThePattern(t *testing.T) {
	pattern := regexp.MustCompile(event.TypePattern)
	for _, s := range []string{"", "a", "like", "Like", "1a", "a1", "a b", "ä", "a-b.c_d", "-a",
		strings.Repeat("a", 64), strings.Repeat("a", 65)} {
		if got, want := event.ValidType(s), pattern.MatchString(s); got != want {
			t.Errorf("ValidType(%q) = %v, the pattern says %v", s, got, want)
		}
	}
}

func TestWeightsOf(t *testing.T) {
	w := event.Weights{"view": 0.2, "dislike": -1, "zero": 0}
	for _, c := range []struct {
		eventType string
		value     float64
		want      float32
	}{
		{"like", 1, 1}, {"like", 3, 3}, {"view", 1, 0.2}, {"view", 2, 0.4}, {"dislike", 1, -1},
		{"zero", 5, 0},
		{"like", 5000, event.MaxWeight}, {"dislike", 5000, -event.MaxWeight}, {"like", 1e-300, 0},
	} {
		check.Same(t, c.want, w.Of(c.eventType, c.value), "Of(%s, %v)", c.eventType, c.value)
	}
	check.Same(t, float32(1), event.Weights(nil).Of("view", 1), "without weights an event weighs")
}

func TestWeightsValidate(t *testing.T) {
	if faults := (event.Weights{"view": 0.2,
		"dislike": -1000}).Validate("EventWeights"); len(faults) != 0 {
		t.Errorf("good weights are refused: %v", faults)
	}
	err := errors.Join(event.Weights{"View": 1, "a": math.NaN(),
		"b": 1001}.Validate("EventWeights")...)
	want := `EventWeights: event type "View" must match ^[a-z][a-z0-9_.-]{0,63}$
EventWeights: weight of "a" is NaN, want a number from -1000 to 1000
EventWeights: weight of "b" is 1001, want a number from -1000 to 1000`
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %v", err, want)
	}
	if !errors.As(err, new(*fault.Fault)) {
		t.Error("no fault in the chain")
	}
}

func TestParseWeights(t *testing.T) {
	got, err := event.ParseWeights("F", []byte("\ufeff# types\n\nview  0.2\n dislike -1\r\nbuy 3e0"))
	if err != nil || len(got) != 3 || got["view"] != 0.2 || got["dislike"] != -1 || got["buy"] != 3 {
		t.Errorf("weights %v: %v", got, err)
	}
	for text, want := range map[string]string{
		"":               "F: there is no event type in the file",
		"view":           "F: line 1 has 1 words",
		"\nview 1 2":     "F: line 2 has 3 words",
		"view x":         `F: line 1 has the weight "x", which is not a number from -1000 to 1000`,
		"a 1\nb 2\na 3":  "F: line 3 has a type of an earlier line",
		"a 1\nView 1":    `F: line 2 has the event type "View", which does not match ^[a-z]`,
		"view 1001":      `F: line 1 has the weight "1001", which is not a number from`,
		"view NaN\nb 0 ": `F: line 1 has the weight "NaN"`,
	} {
		_, err := event.ParseWeights("F", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
