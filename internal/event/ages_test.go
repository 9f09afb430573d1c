package event_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/internal/test/check"
)

const day = 24 * time.Hour

func TestAges(t *testing.T) {
	a := check.Get(event.ParseAges("Retain", []string{"400d,view=48h", "buy=36500d"}))(t)
	check.Same(t, 400*day, a.Most, "age of all types")
	check.Same(t, 0, len(a.Validate("Retain")), "faults")
	check.Same(t, "400d,buy=36500d,view=2d", a.String(), "ages")
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		of   string
		age  time.Duration
		want bool
	}{
		{"like", 400 * day, false}, {"like", 400*day + 1, true}, {"", 401 * day, true},
		{"view", 2 * day, false}, {"view", 2*day + 1, true}, {"buy", 900 * day, false},
		{"like", -day, false},
	} {
		check.Same(t, c.want, a.Passed(c.of, now.Add(-c.age), now), "%q of age %v is too old", c.of,
			c.age)
	}
	check.Same(t, false, a.Passed("like", time.Time{}, now), "an event without a time is too old")
	check.Same(t, true, a.Limit(), "there is a limit")
	none := check.Get(event.ParseAges("Retain", nil))(t)
	check.Same(t, false, none.Limit() || none.Passed("view", now.Add(-900*day), now), "no ages limit")
}

func TestAgesRefused(t *testing.T) {
	for text, want := range map[string]string{
		"1y":        `Retain: "1y", want a whole number of days, such as 400d, or of hours, from 24h to 36500d; or`,
		"23h":       `Retain: "23h", want a whole number`,
		"0d":        `Retain: "0d"`,
		",":         `Retain: ""`,
		"-3d":       `Retain: "-3d"`,
		"60000d":    `Retain: "60000d"`,
		"view=":     `Retain: "view="`,
		"View=3d":   `Retain: event type "View" must match`,
		"=3d":       `Retain: event type "" must match`,
		"3d 4d":     `Retain: "4d" is the second age of the same events`,
		"a=3d a=4d": `Retain: "a=4d" is the second age of the same events`,
	} {
		_, err := event.ParseAges("Retain", strings.Fields(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	err := errors.Join(event.Ages{Most: time.Hour,
		ByType: map[string]time.Duration{"View": 3 * day, "a": 0}}.Validate("Retain")...)
	want := "Retain: 1h0m0s, want at least 24h and at most 100 years\n" +
		"Retain: event type \"View\" must match " + event.TypePattern + "\n" +
		"Retain: 0s, want at least 24h and at most 100 years"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}
