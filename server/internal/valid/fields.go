package valid

import (
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/store"
)

// The bad… functions return the problem of a value, or nothing.

func badID(id string) string {
	switch {
	case id == "":
		return "is required"
	case len(id) > event.MaxIDBytes:
		return fmt.Sprintf("has %d bytes, at most %d are allowed", len(id), event.MaxIDBytes)
	case !utf8.ValidString(id):
		return "is not valid UTF-8"
	}
	return ""
}

func badEventID(id string) string {
	switch {
	case len(id) > MaxEventIDBytes:
		return fmt.Sprintf("has %d bytes, at most %d are allowed", len(id), MaxEventIDBytes)
	case !utf8.ValidString(id):
		return "is not valid UTF-8"
	}
	return ""
}

// badRecommendationID accepts what the server does not know: an event is worth more than its
// attribution.
func badRecommendationID(id string) string {
	switch {
	case len(id) > maxRecommendationID:
		return fmt.Sprintf("has %d bytes, at most %d are allowed", len(id), maxRecommendationID)
	case !utf8.ValidString(id):
		return "is not valid UTF-8"
	}
	return ""
}

// badEventType accepts the empty string, which stands for the default.
func badEventType(t string) string {
	switch {
	case t == "" || event.ValidType(t):
		return ""
	case len(t) > event.MaxTypeBytes:
		return fmt.Sprintf("has %d bytes, at most %d are allowed", len(t), event.MaxTypeBytes)
	}
	return "must match " + event.TypePattern
}

func badEventTime(t *timestamppb.Timestamp, now time.Time) string {
	switch {
	case t == nil:
		return ""
	case t.CheckValid() != nil || t.GetSeconds() < 0:
		return "must be from 1970-01-01 to 9999-12-31"
	case t.AsTime().After(now.Add(maxFuture)):
		return "is more than 24 hours in the future"
	}
	return ""
}

func badValue(v *float64) string {
	if v != nil && !(math.Abs(*v) <= event.MaxWeight) { // false for NaN too
		return fmt.Sprintf("must be a number from -%d to %d", event.MaxWeight, event.MaxWeight)
	}
	return ""
}

// badCount checks the length of a list; max is included.
func badCount(n, min, max int) string {
	if n < min || n > max {
		return fmt.Sprintf("has %d elements, want %d to %d", n, min, max)
	}
	return ""
}

func required(text string) string {
	if text == "" {
		return "is required"
	}
	return ""
}

// badAmount checks the scale of an exploration.
func badAmount(v *float64) string {
	if v != nil && !(*v >= 0 && *v <= maxExploration) { // false for NaN too
		return fmt.Sprintf("must be a number from 0 to %d", maxExploration)
	}
	return ""
}

func badTitle(title string) string {
	switch {
	case len(title) > store.MaxTitleBytes:
		return fmt.Sprintf("has %d bytes, at most %d are allowed", len(title), store.MaxTitleBytes)
	case !utf8.ValidString(title):
		return "is not valid UTF-8"
	}
	return ""
}

func badTime(t *timestamppb.Timestamp) string {
	if t != nil && (t.CheckValid() != nil || t.GetSeconds() < 0) {
		return "must be from 1970-01-01 to 9999-12-31"
	}
	return ""
}
