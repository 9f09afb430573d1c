package catalogue

import (
	"iter"
	"time"

	"github.com/gsimc/gsimc/model/content"
)

// documentsAtOnce is the number of items that are looked at under one lock, for which writes wait,
// and lists behind these. Documents have about as many names at once as [lockedNames].
const documentsAtOnce = 1024

// Changes moves when the index changes.
func (c *Catalogue) Changes() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.changes
}

// Document returns what the catalogue says of an item, hidden or not. Its texts are those of the
// index.
func (c *Catalogue) Document(id string) (d content.Document, found bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	slot, found := c.items.slots[id]
	if !found || c.items.entries[slot].damaged {
		return content.Document{}, false
	}
	return c.items.document(slot), true
}

// Shows tells whether an item may be on a list at a time, as far as the catalogue says.
func (c *Catalogue) Shows(id string, now time.Time) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	slot, found := c.items.slots[id]
	return !found || c.items.entries[slot].shownAt(now.UnixMicro())
}

// Documents are those of the items that are wanted and not hidden, whether they are available now
// or not. An item that is written meanwhile may come twice, or not at all.
func (c *Catalogue) Documents(
	wanted func(id string) bool,
) iter.Seq2[string, content.Document] {
	return func(yield func(string, content.Document) bool) {
		ids, documents := []string{}, []content.Document{}
		for slot, more := int32(0), true; more; {
			ids, documents = ids[:0], documents[:0]
			c.mu.RLock()
			all := int32(len(c.items.entries))
			end, names := min(slot+documentsAtOnce, all), 0
			for ; slot < end && names < lockedNames; slot++ {
				e := &c.items.entries[slot]
				if e.id != "" && !e.hidden && wanted(e.id) {
					ids, documents = append(ids, e.id), append(documents, c.items.document(slot))
					names += len(e.terms)
				}
			}
			more = slot < all
			c.mu.RUnlock()
			for at, id := range ids {
				if !yield(id, documents[at]) {
					return
				}
			}
		}
	}
}

// document is that of the item of a slot.
func (x *index) document(slot int32) content.Document {
	e := &x.entries[slot]
	d := content.Document{Title: e.title, Embedding: x.embeddings[slot]}
	for _, term := range e.terms {
		if n := x.terms.names[term]; n.label {
			d.Labels = append(d.Labels, n.text)
		} else {
			d.Categories = append(d.Categories, n.text)
		}
	}
	return d
}
