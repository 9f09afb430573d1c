// Package event holds the rules of one interaction that every layer shares: how long an id may be,
// how an event type is spelled, and how much an event weighs. Files, stores, models and the wire
// refuse the same values because they ask here.
package event

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gsimc/gsimc/internal/fault"
)

const (
	// MaxIDBytes is the longest id of a user or an item, in bytes.
	MaxIDBytes = 256

	// MaxWeight bounds the absolute weight and value of an event, so that sums stay far from the
	// end of float32.
	MaxWeight = 1000

	// MaxFuture is how far the time of an event may be ahead of the clock of a server.
	MaxFuture = 24 * time.Hour

	// DefaultType is the type of an event that comes without one.
	DefaultType = "like"

	// MaxTypeBytes is the longest name of an event type, in bytes.
	MaxTypeBytes = 64

	// TypePattern is the spelling of event types, as a regular expression. [ValidType] is the same
	// rule.
	TypePattern = "^[a-z][a-z0-9_.-]{0,63}$"
)

// wantWeight says which weights are accepted.
var wantWeight = fmt.Sprintf("a number from %d to %d", -MaxWeight, MaxWeight)

// ValidType tells whether t is spelled as [TypePattern] says.
func ValidType(t string) bool {
	if t == "" || len(t) > MaxTypeBytes {
		return false
	}
	for i := range len(t) {
		letter := t[i] >= 'a' && t[i] <= 'z'
		other := t[i] >= '0' && t[i] <= '9' || t[i] == '_' || t[i] == '.' || t[i] == '-'
		if !letter && (i == 0 || !other) {
			return false
		}
	}
	return true
}

// Weights maps event types to their weights. A type that is not in the map weighs 1; nil is the map
// of no types.
type Weights map[string]float64

// Of returns the weight with which an event counts in a user's state: the weight of its type times
// its value, within ±[MaxWeight], rounded to float32. Training from histories and serving both call
// it, so that they agree to the last bit.
func (w Weights) Of(eventType string, value float64) float32 {
	return float32(min(max(w.OfType(eventType)*value, -MaxWeight), MaxWeight))
}

// OfType returns the weight of a type.
func (w Weights) OfType(eventType string) float64 {
	if weight, given := w[eventType]; given {
		return weight
	}
	return 1
}

// MaxTypes is the number of types that a file of weights may have.
const MaxTypes = 1000

// ParseWeights reads a file of weights. A line has a type and its weight, with blanks between them.
// ParseWeights skips a byte order mark at the beginning of the file, empty lines, and lines that
// begin with #. The error is a fault of field, and its text names the line.
func ParseWeights(field string, text []byte) (Weights, error) {
	w, number := Weights{}, 0
	for line := range bytes.Lines(bytes.TrimPrefix(text, []byte("\ufeff"))) {
		number++
		words := strings.Fields(string(line))
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		bad := func(problem string) (Weights, error) {
			return nil, &fault.Fault{Field: field, Problem: fmt.Sprintf("line %d has %s: a line "+
				"is an event type and its weight, such as view 0.2", number, problem)}
		}
		if len(words) != 2 {
			return bad(fmt.Sprintf("%d words", len(words)))
		}
		weight, err := strconv.ParseFloat(words[1], 64)
		_, twice := w[words[0]]
		switch {
		case !ValidType(words[0]):
			return bad("the event type " + strconv.Quote(words[0]) + ", which does not match " +
				TypePattern)
		case err != nil || !(math.Abs(weight) <= MaxWeight):
			return bad("the weight " + strconv.Quote(words[1]) + ", which is not " + wantWeight)
		case twice:
			return bad("a type of an earlier line")
		case len(w) == MaxTypes:
			return bad(fmt.Sprintf("more than the %d types that there may be", MaxTypes))
		}
		w[words[0]] = weight
	}
	if len(w) == 0 { // as while it is being written
		return nil, &fault.Fault{Field: field, Problem: "there is no event type in the file"}
	}
	return w, nil
}

// Validate returns a fault of the field for each type that is misspelled and each weight beyond
// ±[MaxWeight], in the order of the types.
func (w Weights) Validate(field string) []error {
	var faults []error
	for _, t := range slices.Sorted(maps.Keys(w)) {
		if !ValidType(t) {
			faults = append(faults, &fault.Fault{Field: field, Problem: "event type " +
				strconv.Quote(t) + " must match " + TypePattern})
		}
		if v := w[t]; !(math.Abs(v) <= MaxWeight) {
			faults = append(faults, &fault.Fault{Field: field, Problem: "weight of " +
				strconv.Quote(t) + " is " + strconv.FormatFloat(v, 'g', -1, 64),
				Want: wantWeight})
		}
	}
	return faults
}
