package sealed

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/gsimc/gsimc/internal/event"
)

// CheckFinite checks that the numbers of an array are finite.
func CheckFinite(name string, values []float32) error {
	if i := slices.IndexFunc(values, NotFinite); i >= 0 {
		return fmt.Errorf("%s[%d] is %v, want a finite number", name, i, values[i])
	}
	return nil
}

// CheckIDs checks that ids of items are valid, distinct and in bytewise order.
func CheckIDs(ids []string) error {
	for i, id := range ids {
		switch {
		case id == "" || len(id) > event.MaxIDBytes:
			return fmt.Errorf("item %d has an id of %d bytes, want 1 to %d",
				i, len(id), event.MaxIDBytes)
		case !utf8.ValidString(id):
			return fmt.Errorf("item %d has the id %q, which is not valid UTF-8", i, id)
		case i > 0 && id <= ids[i-1]:
			return fmt.Errorf("item %d has the id %q after %q, want distinct ids in bytewise order",
				i, id, ids[i-1])
		}
	}
	return nil
}

// NotFinite reports whether v is NaN or ±Inf, whose exponent bits are all set.
func NotFinite(v float32) bool { return math.Float32bits(v)&0x7f800000 == 0x7f800000 }
