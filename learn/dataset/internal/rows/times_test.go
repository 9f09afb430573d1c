package rows

import (
	"math"
	"regexp"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
)

func TestDates(t *testing.T) {
	clock := &clock{ticks: 1}
	for text, want := range map[string]string{
		"2024-02-29":                      "2024-02-29T00:00:00Z",
		"2024-02-29 01:02":                "2024-02-29T01:02:00Z",
		"2024-02-29 01:02:03":             "2024-02-29T01:02:03Z",
		"2024-02-29 01:02:03.999":         "2024-02-29T01:02:03Z",
		"2024-02-29T01:02:03,5":           "2024-02-29T01:02:03Z",
		"2024-02-29 01:02:03 UTC":         "2024-02-29T01:02:03Z",
		"2024-02-29 01:02:03.1 +0130":     "2024-02-28T23:32:03Z",
		"2024-02-29T01:02:03-23:59":       "2024-03-01T01:01:03Z",
		"0000-01-01":                      "0000-01-01T00:00:00Z",
		"9999-12-31 23:59:59.99999999999": "9999-12-31T23:59:59Z",
		"1969-12-31T23:59:59.5Z":          "1969-12-31T23:59:59Z",
	} {
		expected := check.Get(time.Parse(time.RFC3339, want))(t)
		got, dated, err := clock.read([]byte(text))
		if err != nil || !dated || got != expected.Unix() {
			t.Errorf("%s: %d, %v, %v, want %s", text, got, dated, err, want)
		}
	}
	for _, text := range []string{
		"", " ", "2024-02-30", "2023-02-29", "2024-00-01", "2024-13-01", "2024-01-00", "2024-1-1",
		"24-01-01", "2024/01/01", "2024-01-01x",
		"2024-01-01 ", "2024-01-01 1", "2024-01-01 24:00", "2024-01-01 23:60",
		"2024-01-01 23:59:60", "2024-01-01 23:59:5", "2024-01-01 23:59:59.",
		"2024-01-01 10:00:00 CET", "2024-01-01 10:00:00+", "2024-01-01 10:00:00+2",
		"2024-01-01T1:00:00Z", "2024-01-01 10:00:00+24:00", "2024-01-01 10:00:00+02-00",
		"2024-01-01T10:00:00  Z", "9999-12-31 23:59:59-01:00", "0000-01-01 00:00+01", "NaN", "inf",
		"-inf", "0x",
	} {
		if got, _, err := clock.read([]byte(text)); err == nil {
			t.Errorf("%q was read as %d", text, got)
		}
	}
}

// strictRFC3339 is the form of RFC 3339. Package time also takes hours of one digit, a comma before
// the fraction and offsets of a whole day.
var strictRFC3339 = regexp.MustCompile(
	`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// FuzzTime compares dates with package time and numbers with their units.
func FuzzTime(f *testing.F) {
	for _, s := range []string{"2024-05-31T12:00:00Z", "2024-05-31 12:00:00.123+02",
		"1700000000000", "-1.5e3", "2024-02-29", "9223372036854775807", "2024-05-31T1:00:00Z",
		"2024-05-31T01:00:00+24:00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, ticks := range []int64{1, 1e3, 1e6, 1e9} {
			got, dated, err := (&clock{ticks: ticks}).read(b)
			if err == nil && (got < MinTime || got > MaxTime) {
				t.Fatalf("%q: %d is out of range", b, got)
			}
			if x, isInt := parseInt(b); isInt && err == nil && got != x/ticks {
				t.Fatalf("%q: %d, want %d", b, got, x/ticks)
			}
			want := time.Time{}
			if e := want.UnmarshalText(b); e == nil && strictRFC3339.Match(b) &&
				(err != nil || !dated || got != want.Unix()) &&
				want.Unix() >= MinTime && want.Unix() <= MaxTime {
				t.Fatalf("%q: %d, %v; package time reads %v", b, got, err, want)
			}
		}
		m := &magnitude{}
		_, _, _ = (&clock{sample: m}).read(b)
		if UnitName(m.ticks()) == "" {
			t.Fatalf("%q: %d ticks", b, m.ticks())
		}
	})
}

func TestUnitBounds(t *testing.T) {
	for x, want := range map[float64]int64{0: 1, 1: 1, 1e11 - 1: 1, 1e11: 1e3, -1e11: 1e3,
		1e14: 1e6, 1e17: 1e9, 9e18: 1e9, 1e19: 1, math.Inf(1): 1} {
		m := &magnitude{}
		m.add(x)
		check.Same(t, want, m.ticks(), "ticks of %v", x)
	}
}
