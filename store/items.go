package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/gsimc/gsimc/internal/event"
)

// Items is a [Store] that also keeps the catalogue: what is known of items besides their events.
//
// The catalogue has nothing to do with the histories: an item of an event need not be in it. Its
// writes have the promises of Append about durability and outcomes, see the package comment. Its
// readers may see a write that is not durable yet, and never a part of one.
type Items interface {
	Store

	// PutItems writes the items in one atomic, durable step. An item replaces the one with the same
	// id; if an id is there twice, the last one counts. ErrInvalid: an item is malformed
	// (Item.Validate). ErrFull: there is too little disk space. After these nothing is applied.
	PutItems(ctx context.Context, items []Item) error

	// DeleteItems removes the items in one atomic, durable step. Unknown ids are ignored. ErrFull
	// as with PutItems.
	DeleteItems(ctx context.Context, ids []string) error

	// Item returns the item with an id; found is false if there is none.
	Item(ctx context.Context, id string) (item Item, found bool, err error)

	// EachItem calls fn for the items with ids after the given one, in the bytewise order of their
	// ids. "" is before all ids. Of an item that is written or removed meanwhile, fn gets what was
	// before or what is after. The first error of fn ends the call and is returned as it is. fn may
	// call the store. Damaged items are left out, and at the end the error is a *DamagedItemsError
	// (ErrCorrupt) with their ids. Any other ErrCorrupt is damage that may hide items behind those
	// that have been passed to fn.
	EachItem(ctx context.Context, after string, fn func(Item) error) error

	// ItemsRevision returns a number that goes up by 1 with each call of PutItems or DeleteItems
	// that is applied, of any caller, at the latest when that returns. EachItem begun after that
	// has what was applied up to there. Revisions do not compare after the store was closed and
	// opened again.
	ItemsRevision(ctx context.Context) (uint64, error)
}

// Item is what the catalogue has of an item.
type Item struct {
	// ID is required; at most MaxIDBytes bytes.
	ID string
	// Title is a name for people, of valid UTF-8; at most MaxTitleBytes bytes. It may be empty.
	Title string
	// Categories and Labels are names, sorted and distinct, at most MaxItemNames of each. A name
	// has 1 to MaxIDBytes bytes.
	Categories, Labels []string
	// Hidden is set if the item must not be shown.
	Hidden bool
	// From and Until bound the time in which the item may be shown: From ≤ t < Until. They are kept
	// to the microsecond and come back in UTC. The zero Time is no bound.
	From, Until time.Time
	// Embedding is a point near those of items that are alike, by their cosines: at most
	// MaxEmbedding finite coordinates, not all zero. Empty: none.
	Embedding []float32
	// Numbers are what filters and boosts go by, such as a price, by their names: at most
	// event.MaxNumbers finite ones. Times are seconds since 1970.
	Numbers map[string]float64
}

// MaxItemNames is the largest number of categories, and of labels, of an item.
const MaxItemNames = 100

// MaxTitleBytes is the largest length of the title of an item.
const MaxTitleBytes = 512

// Validate checks the lengths of the id and of the names, and their order. Its error names the
// field and wraps ErrInvalid.
func (i *Item) Validate() error {
	if i.ID == "" || len(i.ID) > MaxIDBytes {
		return fmt.Errorf("%w: an item id of %d bytes, want 1 to %d", ErrInvalid, len(i.ID),
			MaxIDBytes)
	}
	if len(i.Title) > MaxTitleBytes || !utf8.ValidString(i.Title) {
		return fmt.Errorf("%w: a title of %d bytes, want at most %d of valid UTF-8", ErrInvalid,
			len(i.Title), MaxTitleBytes)
	}
	if !GoodEmbedding(i.Embedding) {
		return fmt.Errorf("%w: an embedding of %d numbers, want at most %d finite ones, not all 0",
			ErrInvalid, len(i.Embedding), MaxEmbedding)
	}
	if !GoodNumbers(i.Numbers) {
		return fmt.Errorf("%w: %d numbers, want at most %d finite ones with names that match %s",
			ErrInvalid, len(i.Numbers), event.MaxNumbers, event.NumberSpelling)
	}
	for _, names := range [][]string{i.Categories, i.Labels} {
		if len(names) > MaxItemNames {
			return fmt.Errorf("%w: %d names of an item, want at most %d", ErrInvalid, len(names),
				MaxItemNames)
		}
		for at, name := range names {
			switch {
			case name == "" || len(name) > MaxIDBytes:
				return fmt.Errorf("%w: a name of %d bytes, want 1 to %d", ErrInvalid, len(name),
					MaxIDBytes)
			case at > 0 && names[at-1] >= name:
				return fmt.Errorf("%w: the names of an item are not sorted and distinct",
					ErrInvalid)
			}
		}
	}
	return nil
}

// ValidateItems validates each item; its error names the index of the first bad one and wraps
// ErrInvalid.
func ValidateItems(items []Item) error {
	for at := range items {
		if err := items[at].Validate(); err != nil {
			return fmt.Errorf("item %d: %w", at, err)
		}
	}
	return nil
}

// Clone returns a copy that shares no memory with i, with times as a store keeps them.
func (i *Item) Clone() Item {
	c := *i
	c.Categories, c.Labels = slices.Clone(i.Categories), slices.Clone(i.Labels)
	c.Embedding, c.Numbers = slices.Clone(i.Embedding), maps.Clone(i.Numbers)
	c.From, c.Until = keptTime(i.From), keptTime(i.Until)
	return c
}

// keptTime is a time to the microsecond, in UTC and without the monotonic clock.
func keptTime(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMicro(t.UnixMicro()).UTC()
}
