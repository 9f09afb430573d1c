package valid

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/gsimc/gsimc/internal/event"
)

// The bad… functions return the problem of a value, or nothing.

// badText checks the length, in bytes, and the encoding of a text, which may be empty.
func badText(text string, max int) string {
	switch {
	case len(text) > max:
		return fmt.Sprintf("has %d bytes, at most %d are allowed", len(text), max)
	case !utf8.ValidString(text):
		return "is not valid UTF-8"
	}
	return ""
}

func badID(id string) string { return cmp.Or(required(id), badText(id, event.MaxIDBytes)) }

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
	if text := badTime(t); text != "" {
		return text
	}
	if t != nil && t.AsTime().After(now.Add(event.MaxFuture)) {
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

// badEnum checks a choice, such as the kind of a list.
func badEnum(choice protoreflect.Enum) string {
	all := choice.Descriptor()
	if all.Values().ByNumber(choice.Number()) == nil {
		return "must be " + OneOf(all)
	}
	return ""
}

// OneOf names the choices that there are. The first one is the choice of a field that is unset.
func OneOf(choices protoreflect.EnumDescriptor) string {
	var names []string
	for i := 1; i < choices.Values().Len(); i++ {
		names = append(names, string(choices.Values().Get(i).Name()))
	}
	return "one of " + strings.Join(names, ", ") + ", or unset"
}

func badPage(size int32) string {
	if size < 0 {
		return "must not be negative"
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

func badTime(t *timestamppb.Timestamp) string {
	if t != nil && (t.CheckValid() != nil || t.GetSeconds() < 0) {
		return "must be from 1970-01-01 to 9999-12-31"
	}
	return ""
}
