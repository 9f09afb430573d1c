package borrow

import (
	"hash/maphash"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/content"
)

// A walk is a pass under way.
type walk struct {
	*Rows
	yield func(struct{}) bool
	ended bool // nobody wants its outcome
}

// pass makes the rows of the catalogue as it is. It yields whenever it may rest.
func (r *Rows) pass(yield func(struct{}) bool) {
	w := &walk{Rows: r, yield: yield}
	r.changes = r.catalogue.Changes()
	r.asked = r.changes
	r.passes++
	var rows []row
	if w.any() {
		if w.renewIndex(); w.ended { // the base may be closed
			return
		}
		rows = w.borrow(w.closest())
	}
	if w.ended {
		return
	}
	r.asked = r.changes // what has changed since then is due
	maps.DeleteFunc(r.items, func(_ string, i item) bool { return i.pass != r.passes })
	if !slices.EqualFunc(r.rows, rows, func(a, b row) bool {
		return a.id == b.id && slices.Equal(a.near, b.near)
	}) {
		r.version++
	}
	r.rows, r.place, r.ready = rows, make(map[string]int, len(rows)), true
	for at := range rows {
		r.place[rows[at].id] = at
	}
	if r.indexed == r.changes {
		r.reindex = time.Now().Add(max(r.every/2, indexShare*time.Since(r.began)))
	}
}

// on rests, and reports whether the pass goes on.
func (w *walk) on() bool {
	w.ended = w.ended || !w.yield(struct{}{})
	return !w.ended
}

func (w *walk) unknown(id string) bool {
	if w.ended {
		return false
	}
	_, known := w.base.ItemIndex(id)
	return !known
}

// any reports whether there is an item that could borrow a row. Without one nothing is indexed.
func (w *walk) any() bool {
	for range w.catalogue.Documents(w.unknown) {
		return true
	}
	w.index, w.indexed = nil, w.changes
	return false
}

// renewIndex makes an index of the known items, unless it is there or was made a short time ago.
func (w *walk) renewIndex() {
	size := w.catalogue.Size()
	if w.index != nil && (w.indexed == w.changes || time.Now().Before(w.reindex)) &&
		float64(size) < growth*float64(w.size) {
		return
	}
	h := &maphash.Hash{}
	h.SetSeed(w.seed)
	for range w.known(h) { // the hash alone
	}
	if w.index == nil || h.Sum64() != w.of {
		w.index = content.NewIndex(w.base.NumItems(), w.known(h), func() { w.on() })
		w.of = h.Sum64()
	}
	w.indexed, w.size = w.changes, size
}

// known are the documents of the items of the base, in the order of their indices. h becomes their
// hash.
func (w *walk) known(h *maphash.Hash) iter.Seq2[int32, content.Document] {
	return func(yield func(int32, content.Document) bool) {
		h.Reset()
		for i := int32(0); int(i) < w.base.NumItems() && w.on(); i++ {
			d, found := w.catalogue.Document(w.base.ItemID(i))
			if !found {
				continue
			}
			maphash.WriteComparable(h, i)
			write(h, &d)
			if !yield(i, d) {
				return
			}
		}
	}
}

// write adds a document to a hash.
func write(h *maphash.Hash, d *content.Document) {
	for _, texts := range [][]string{{d.Title}, d.Categories, d.Labels} {
		maphash.WriteComparable(h, len(texts))
		for _, text := range texts {
			maphash.WriteComparable(h, text)
		}
	}
	maphash.WriteComparable(h, len(d.Embedding))
	for _, x := range d.Embedding {
		maphash.WriteComparable(h, x)
	}
}

// sum is a hash of a document and of those that it is compared with.
func (w *walk) sum(d *content.Document) uint64 {
	h := &maphash.Hash{}
	h.SetSeed(w.seed)
	maphash.WriteComparable(h, w.of)
	write(h, d)
	return h.Sum64()
}

// closest returns the items with the closest neighbours, in their order.
func (w *walk) closest() []row {
	var rows []row
	for id, d := range w.catalogue.Documents(w.unknown) {
		if w.ended {
			break
		}
		i, sum := w.items[id], w.sum(&d)
		if i.pass == w.passes {
			continue // it was written meanwhile, and comes twice
		}
		r := row{id: id, sum: sum, best: i.best}
		if i.sum != sum {
			r.find(w.index, d)
		}
		w.items[id] = item{sum: sum, best: r.best, pass: w.passes}
		if r.best > 0 {
			rows = append(rows, r)
		}
		if len(rows) == 2*Most {
			rows = first(rows)
		}
		w.on()
	}
	return first(rows)
}

// find looks for the neighbours.
func (r *row) find(index *content.Index, d content.Document) {
	r.near, r.best = index.Nearest(d, model.ContentNeighbours), 0
	if len(r.near) > 0 {
		r.best = r.near[0].Similarity
	}
}

// first returns the rows with the closest neighbours.
func first(rows []row) []row {
	order := make([]*row, len(rows)) // as rows are large
	for at := range rows {
		order[at] = &rows[at]
	}
	slices.SortFunc(order, nearest)
	closest := make([]row, min(len(rows), Most))
	for at := range closest {
		closest[at] = *order[at]
	}
	return closest
}

// borrow makes the rows that are not there, and leaves out those that cannot be made.
func (w *walk) borrow(rows []row) (made []row) {
	for _, r := range rows {
		if !w.on() {
			return nil
		}
		if at, had := w.place[r.id]; had && w.rows[at].sum == r.sum {
			made = append(made, w.rows[at])
			continue
		}
		if r.near == nil { // it was farther away at the last pass
			d, found := w.catalogue.Document(r.id)
			if !found {
				continue // another pass follows
			}
			r.sum = w.sum(&d)
			r.find(w.index, d)
		}
		if w.taken(r.id) || w.make(&r) {
			made = append(made, r)
		}
	}
	return made
}
