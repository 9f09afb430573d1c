package catalogue

import (
	"fmt"
	"slices"

	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/store"
)

// Bounds are the limits of what writes may lead to. What other servers write to the store is taken
// in any case: the index has to agree with it.
type Bounds struct {
	Items int   // 0: any number
	Bytes int64 // that the index takes, see [Catalogue.Bytes]; 0: any number
}

// What an item and a name take in the index besides their texts, with the rooms that maps and
// slices keep free and with one view; TestCountedBytesAreThoseOfTheHeap compares.
const (
	itemBytes = 184
	useBytes  = 6 // of a name by an item
	nameBytes = 200
	// what an embedding takes besides its numbers
	embeddingBytes = 80
	chunkBytes     = (8 + binsBytes) * chunkSlots
	binsBytes      = 21 // of a number, at least: see [Catalogue.note]
)

// A LargeError is the outcome of a write that would make the index larger than it may be. Nothing
// was written.
type LargeError struct {
	Bytes  int64 // that the index takes
	Growth int64 // by which the write would make it larger
	Limit  int64
}

// Error has the sizes.
func (e *LargeError) Error() string {
	return fmt.Sprintf("the catalogue takes %d bytes of memory, and items would add %d: at most "+
		"%d are allowed; nothing was written. Delete items, give them fewer or shorter titles, "+
		"categories, labels, numbers and embeddings, or raise --max-catalogue-size",
		e.Bytes, e.Growth, e.Limit)
}

// A MixedError is the outcome of a write of embeddings of different lengths. Nothing was written.
type MixedError struct {
	At   []int // the items whose embeddings do not fit, in the order of the change
	Want int   // numbers of an embedding
	// the item of the change whose embedding has them; empty: those of the catalogue do
	Like string
}

// Error has the length.
func (e *MixedError) Error() string {
	if e.Like != "" {
		return fmt.Sprintf("must have %d numbers, as that of item %q before it", e.Want, e.Like)
	}
	return fmt.Sprintf("must have %d numbers, as the other embeddings of the catalogue: empty "+
		"those before another length is written", e.Want)
}

// mixed returns an error if embeddings that change do not have one length, that of those that are
// there.
func (x *index) mixed(items []store.Item) error {
	e := &MixedError{}
	for _, there := range x.embeddings {
		e.Want = len(there)
		break
	}
	for at := range items {
		n := len(items[at].Embedding)
		slot, found := x.slots[items[at].ID]
		switch {
		case n == 0 || found && slices.Equal(x.embeddings[slot], items[at].Embedding):
		case e.Want == 0:
			e.Want, e.Like = n, items[at].ID
		case n != e.Want:
			e.At = append(e.At, at)
		}
	}
	if e.At == nil {
		return nil
	}
	return e
}

// Bytes returns about how much memory the index takes: what Bounds.Bytes bounds.
func (c *Catalogue) Bytes() int64 { return c.bytes.Load() }

// Limit returns the largest Bytes that writes may lead to; 0: any.
func (c *Catalogue) Limit() int64 { return c.bounds.Bytes }

// room tells whether items, of which some are new, may be written. Requires writing.
func (c *Catalogue) room(items []store.Item, created int) error {
	if c.bounds.Items > 0 && created > 0 && c.Size()+created > c.bounds.Items {
		return ErrFull
	}
	if err := c.items.mixed(items); err != nil {
		return err
	}
	columns, growth := c.items.columnsAfter(items)
	if columns > event.MaxNumberNames && columns > len(c.items.columns) {
		return ErrColumns
	}
	growth += c.items.growth(items)
	if c.bounds.Bytes > 0 && growth > 0 && c.Bytes()+growth > c.bounds.Bytes {
		return &LargeError{Bytes: c.Bytes(), Growth: growth, Limit: c.bounds.Bytes}
	}
	return nil
}

// growth is by how much a write of items makes the index larger, or smaller, if below 0, without
// the columns.
func (x *index) growth(items []store.Item) int64 {
	grown, uses := int64(0), map[name]int{} // more uses than now
	for i := range items {
		item := &items[i]
		if slot, found := x.slots[item.ID]; found {
			e := &x.entries[slot]
			grown -= e.size() + embeddingSize(x.embeddings[slot])
			for _, t := range e.terms {
				uses[x.terms.names[t]]--
			}
		}
		grown += itemSize(item.ID, folded(item.Title), len(item.Categories)+len(item.Labels)) +
			embeddingSize(item.Embedding)
		for n := range namesOf(item) {
			uses[n]++
		}
	}
	for n, more := range uses {
		before := 0
		if t, found := x.terms.numbers[n]; found {
			before = x.terms.users[t]
		}
		switch {
		case before == 0 && more > 0:
			grown += n.size()
		case before > 0 && before+more == 0:
			grown -= n.size()
		}
	}
	return grown
}

func (e *entry) size() int64 { return itemSize(e.id, e.title, len(e.terms)) }

func itemSize(id, title string, names int) int64 {
	return int64(itemBytes + len(id) + len(title) + useBytes*names)
}

func embeddingSize(e []float32) int64 {
	if len(e) == 0 {
		return 0
	}
	return int64(embeddingBytes + 4*len(e))
}

func (n name) size() int64 { return int64(nameBytes + len(n.text)) }
