package catalogue

import (
	"iter"
	"math"
	"strings"
	"time"

	"github.com/gsimc/gsimc/store"
)

// index holds the items in slots.
type index struct {
	slots   map[string]int32 // of ids
	entries []entry          // by slot
	free    []int32          // slots without an item
	terms   terms

	embeddings map[int32][]float32 // by slot
	columns    map[string]*column  // of numbers, by their names

	chunks, places int // of all columns: chunks, and places for one

	bytes int64 // about what it takes, see size.go
}

// entry is what filters and searches need of an item.
type entry struct {
	id          string   // empty: the slot is free
	title       string   // folded
	terms       []uint32 // of its categories and labels
	from, until int64    // it is shown at t if from ≤ t < until
	hidden      bool
	damaged     bool // it cannot be read
}

func newIndex() index {
	return index{slots: map[string]int32{}, terms: terms{numbers: map[name]uint32{}},
		embeddings: map[int32][]float32{}, columns: map[string]*column{}}
}

// add gives an item that is not there a slot.
func (x *index) add(item *store.Item) int32 {
	e := entry{id: item.ID, title: folded(item.Title), hidden: item.Hidden,
		from: micros(item.From, math.MinInt64), until: micros(item.Until, math.MaxInt64)}
	e.terms = make([]uint32, 0, len(item.Categories)+len(item.Labels))
	for n := range namesOf(item) {
		term := x.terms.use(n)
		if x.terms.users[term] == 1 {
			x.bytes += n.size()
		}
		e.terms = append(e.terms, term)
	}
	x.bytes += e.size()
	slot := int32(len(x.entries))
	if last := len(x.free) - 1; last >= 0 {
		slot, x.free = x.free[last], x.free[:last]
	} else {
		x.entries = append(x.entries, entry{})
	}
	x.entries[slot], x.slots[e.id] = e, slot
	if len(item.Embedding) > 0 {
		x.embeddings[slot] = item.Embedding
		x.bytes += embeddingSize(item.Embedding)
	}
	x.setNumbers(slot, item.Numbers)
	return slot
}

// remove frees a slot.
func (x *index) remove(slot int32) {
	e := &x.entries[slot]
	x.bytes -= e.size() + embeddingSize(x.embeddings[slot])
	delete(x.embeddings, slot)
	x.clearNumbers(slot)
	for _, t := range e.terms {
		if x.terms.users[t] == 1 {
			x.bytes -= x.terms.names[t].size()
		}
		x.terms.unuse(t)
	}
	delete(x.slots, e.id)
	*e = entry{}
	x.free = append(x.free, slot)
}

func (e *entry) shownAt(now int64) bool {
	return !e.hidden && e.from <= now && now < e.until
}

// shownBetween tells whether the moments of an item are those of e.
func (e *entry) shownBetween(item *store.Item) bool {
	return e.from == micros(item.From, math.MinInt64) &&
		e.until == micros(item.Until, math.MaxInt64)
}

// name is that of a category or of a label.
type name struct {
	text  string
	label bool
}

// namesOf are the names of an item, its categories first.
func namesOf(item *store.Item) iter.Seq[name] {
	return func(yield func(name) bool) {
		for _, category := range item.Categories {
			if !yield(name{text: category}) {
				return
			}
		}
		for _, label := range item.Labels {
			if !yield(name{text: label, label: true}) {
				return
			}
		}
	}
}

// terms are the numbers of the names that items have.
type terms struct {
	numbers map[name]uint32
	names   []name   // by term
	users   []int    // by term: how many items have it
	free    []uint32 // terms that no item has
}

// use returns the term of a name for one more item.
func (t *terms) use(n name) uint32 {
	term, found := t.numbers[n]
	if !found {
		if last := len(t.free) - 1; last >= 0 {
			term, t.free = t.free[last], t.free[:last]
		} else {
			term = uint32(len(t.names))
			t.names, t.users = append(t.names, name{}), append(t.users, 0)
		}
		t.names[term], t.numbers[n] = n, term
	}
	t.users[term]++
	return term
}

// unuse takes back a use. A term without any is free for another name.
func (t *terms) unuse(term uint32) {
	if t.users[term]--; t.users[term] == 0 {
		delete(t.numbers, t.names[term])
		t.names[term] = name{}
		t.free = append(t.free, term)
	}
}

// folded is a text in which small and capital letters are the same.
func folded(text string) string { return strings.ToLower(text) }

// micros is a time as the catalogue counts it, or none if it is the zero time.
func micros(t time.Time, none int64) int64 {
	if t.IsZero() {
		return none
	}
	return t.UnixMicro()
}
