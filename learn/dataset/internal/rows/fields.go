package rows

import (
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/gsimc/gsimc/internal/event"
)

// A reason is why a value is refused, as the text of a Error.
type reason string

func (r reason) Error() string { return string(r) }

// Refusef returns why a value is refused, as the text of an [Error].
func Refusef(format string, args ...any) error { return reason(fmt.Sprintf(format, args...)) }

// LongIDError is the reason why an id is refused that is too long.
type LongIDError struct{ id string }

// Error implements error.
func (e *LongIDError) Error() string {
	return fmt.Sprintf("id %s is too long, at most %d bytes are allowed", e.id, event.MaxIDBytes)
}

// The functions below do not allocate on good values.

// CheckID returns why b cannot be a user or item id, or nil.
func CheckID(b []byte) error {
	switch {
	case len(b) == 0:
		return reason("empty id")
	case len(b) > event.MaxIDBytes:
		return &LongIDError{Quote(b)}
	case !utf8.Valid(b):
		return Refusef("id %s is not valid UTF-8", Quote(b))
	}
	return nil
}

// parseInt reads a decimal integer of an int64, but for the least one.
func parseInt(b []byte) (x int64, ok bool) {
	digits := b
	if len(b) > 0 && b[0] == '-' {
		digits = b[1:]
	}
	if len(digits) == 0 || len(digits) > 19 {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		x = 10*x + int64(c-'0') // too large a 19th digit makes a negative number
	}
	if x < 0 {
		return 0, false
	}
	if len(digits) != len(b) {
		x = -x
	}
	return x, true
}

// parseWeight reads a finite number greater than 0.
func parseWeight(b []byte) (weight float32, err error) {
	x, err := strconv.ParseFloat(string(b), 64)
	if err != nil && !math.IsInf(x, 0) {
		return 0, Refusef("bad weight %s, want a number greater than 0", Quote(b))
	}
	return checkWeight(x, b)
}

func checkWeight(x float64, b []byte) (weight float32, err error) {
	w := float32(x)
	if !(w > 0) || math.IsInf(float64(w), 0) { // the negation catches NaN
		return 0, Refusef("weight %s, want a finite number greater than 0", Quote(b))
	}
	return w, nil
}
