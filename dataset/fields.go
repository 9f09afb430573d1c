package dataset

import (
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/gsimc/gsimc/event"
)

// Times outside the years 0 to 9999 are refused: nearly always they are
// milliseconds taken for seconds, which would make every half-life wrong by a
// factor of a thousand without a word.
var (
	minTime = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	maxTime = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).Unix()
)

// The parse functions below return the reason why a value is refused, or "".
// They do not allocate on good values.

// checkID reports whether b can be a user or item id.
func checkID(b []byte) (reason string) {
	switch {
	case len(b) == 0:
		return "empty id"
	case len(b) > event.MaxIDBytes:
		return fmt.Sprintf("id %s is too long, at most %d bytes are allowed", quote(b), event.MaxIDBytes)
	case !utf8.Valid(b):
		return fmt.Sprintf("id %s is not valid UTF-8", quote(b))
	}
	return ""
}

// parseTime reads whole seconds, a decimal number of seconds or RFC 3339.
func parseTime(b []byte) (seconds int64, reason string) {
	if t, ok := parseInt(b); ok {
		return checkTime(t, b)
	}
	if len(b) == 0 {
		return 0, "empty time, want seconds or RFC 3339"
	}
	if x, err := strconv.ParseFloat(string(b), 64); err == nil {
		return truncateTime(x, b)
	}
	var t time.Time
	if err := t.UnmarshalText(b); err != nil {
		return 0, fmt.Sprintf("bad time %s, want seconds or RFC 3339 such as 2024-05-31T12:00:00Z", quote(b))
	}
	return checkTime(t.Unix(), b)
}

// truncateTime turns a decimal number of seconds into whole ones; b is the
// value as it stands in the file.
func truncateTime(x float64, b []byte) (seconds int64, reason string) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, fmt.Sprintf("bad time %s, want a finite number", quote(b))
	}
	const beyond = 1 << 62 // out of range for checkTime, in range for int64
	return checkTime(int64(max(-beyond, min(beyond, x))), b)
}

func checkTime(t int64, b []byte) (seconds int64, reason string) {
	if t < minTime || t > maxTime {
		return 0, fmt.Sprintf("time %s is outside the years 0 to 9999; times are in seconds, not in milliseconds", quote(b))
	}
	return t, ""
}

// parseInt reads a decimal integer of up to 18 digits. The rare rest is left
// to the slower path.
func parseInt(b []byte) (x int64, ok bool) {
	digits := b
	if len(b) > 0 && b[0] == '-' {
		digits = b[1:]
	}
	if len(digits) == 0 || len(digits) > 18 {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		x = 10*x + int64(c-'0')
	}
	if len(digits) != len(b) {
		x = -x
	}
	return x, true
}

// parseWeight reads a finite number greater than 0.
func parseWeight(b []byte) (weight float32, reason string) {
	x, err := strconv.ParseFloat(string(b), 64)
	if err != nil && !math.IsInf(x, 0) {
		return 0, fmt.Sprintf("bad weight %s, want a number greater than 0", quote(b))
	}
	return checkWeight(x, b)
}

func checkWeight(x float64, b []byte) (weight float32, reason string) {
	w := float32(x)
	if !(w > 0) || math.IsInf(float64(w), 0) { // the negation catches NaN
		return 0, fmt.Sprintf("weight %s, want a finite number greater than 0", quote(b))
	}
	return w, ""
}
