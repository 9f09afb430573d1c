package event

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gsimc/gsimc/internal/fault"
)

// Ages say how old events may become. The zero Ages let them become any age.
type Ages struct {
	// Most is the age of events whose type is not in ByType; 0: any.
	Most time.Duration
	// ByType is the age of the events of a type.
	ByType map[string]time.Duration
}

const (
	// MinAge is the least age that can be set: the server looks for old events once a day.
	MinAge = 24 * time.Hour
	// maxAge is the largest one, so that any number of nanoseconds fits.
	maxAge = 100 * 365 * 24 * time.Hour
)

// Limit tells whether events of any type have a largest age.
func (a Ages) Limit() bool { return a.Most > 0 || len(a.ByType) > 0 }

// String returns ages as [ParseAges] reads them.
func (a Ages) String() string {
	var all []string
	if a.Most > 0 {
		all = append(all, ageText(a.Most))
	}
	for _, t := range slices.Sorted(maps.Keys(a.ByType)) {
		all = append(all, t+"="+ageText(a.ByType[t]))
	}
	return strings.Join(all, ",")
}

func ageText(age time.Duration) string {
	const day = 24 * time.Hour
	if age%day == 0 {
		return strconv.Itoa(int(age/day)) + "d"
	}
	return age.String()
}

// Passed tells whether an event of this type and time is too old. An event without a time never is.
func (a Ages) Passed(eventType string, at, now time.Time) bool {
	age, given := a.ByType[eventType]
	if !given {
		age = a.Most
	}
	return age > 0 && !at.IsZero() && now.Sub(at) > age
}

// ParseAges reads ages such as 400d, for all types, and view=30d, for one, with commas between.
// The error is a fault of the field.
func ParseAges(field string, list []string) (a Ages, err error) {
	if len(list) == 0 {
		return a, nil
	}
	for text := range strings.SplitSeq(strings.Join(list, ","), ",") {
		name, age, typed := strings.Cut(text, "=")
		if !typed {
			name, age = "", text
		}
		d, ok := parseAge(age)
		_, twice := a.ByType[name]
		switch {
		case !ok:
			return Ages{}, fault.New(field, strconv.Quote(text),
				"a whole number of days, such as 400d, or of hours, from 24h to 36500d; or that "+
					"of a type, such as view=30d")
		case typed && !ValidType(name):
			return Ages{}, &fault.Fault{Field: field, Problem: "event type " +
				strconv.Quote(name) + " must match " + TypePattern}
		case twice, !typed && a.Most > 0:
			return Ages{}, &fault.Fault{Field: field,
				Problem: strconv.Quote(text) + " is the second age of the same events"}
		case !typed:
			a.Most = d
		case a.ByType == nil:
			a.ByType = map[string]time.Duration{name: d}
		default:
			a.ByType[name] = d
		}
	}
	return a, nil
}

// parseAge reads a duration, in days too.
func parseAge(text string) (d time.Duration, ok bool) {
	if days, found := strings.CutSuffix(text, "d"); found {
		n, err := strconv.ParseUint(days, 10, 16)
		d, ok = time.Duration(n)*24*time.Hour, err == nil
	} else {
		var err error
		d, err = time.ParseDuration(text)
		ok = err == nil
	}
	return d, ok && d >= MinAge && d <= maxAge
}

// Validate returns a fault of the field for each age out of bounds and each type that is
// misspelled, in the order of the types.
func (a Ages) Validate(field string) (faults []error) {
	check := func(age time.Duration) {
		if age < MinAge || age > maxAge {
			faults = append(faults, fault.New(field, age, "at least 24h and at most 100 years"))
		}
	}
	if a.Most != 0 {
		check(a.Most)
	}
	for _, t := range slices.Sorted(maps.Keys(a.ByType)) {
		if !ValidType(t) {
			faults = append(faults, &fault.Fault{Field: field, Problem: "event type " +
				strconv.Quote(t) + " must match " + TypePattern})
		}
		check(a.ByType[t])
	}
	return faults
}
