// Package borrow gives the items of a catalogue that a model does not know a row before anybody has
// them: one borrowed from the known items that have the closest content. It knows neither users nor
// who serves the rows.
//
// The rows follow from the catalogue and the model. They are made by passes over the catalogue,
// which change what is to be served at their ends only. A pass looks for the neighbours of items
// that have come or changed. The known items are read rarely: when one of them changes, all
// similarities do, and with them all rows.
package borrow

import (
	"cmp"
	"hash/maphash"
	"iter"
	"time"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/content"
	"github.com/gsimc/gsimc/model/trend"
)

// Most is the number of items that borrow a row, at most: those with the closest neighbours.
const Most = 10_000

const (
	// leastRest is the shortest rest between two passes, and restShare the length of a rest in
	// units of the work before it.
	leastRest, restShare = time.Second, 3
	// indexShare is the same for passes that read the known items.
	indexShare = 9
	// growth is that of a catalogue at which its known items are read before their time.
	growth = 1.5
)

// A Catalogue has documents of items.
type Catalogue interface {
	// Changes moves when a document changes. Size is the number of items.
	Changes() uint64
	Size() int
	// Document is that of an item, hidden or not.
	Document(id string) (d content.Document, found bool)
	// Documents are those of the items that are wanted and not hidden.
	Documents(wanted func(id string) bool) iter.Seq2[string, content.Document]
}

// Rows are the items that borrow a row, for one base at a time. A nil *Rows has none. One goroutine
// uses it.
type Rows struct {
	catalogue Catalogue
	every     time.Duration
	fault     func(error)
	seed      maphash.Seed

	base    *model.Model // nil: there are no rows
	degrees trend.Degrees
	index   *content.Index
	of      uint64 // hash of the documents that the index has
	items   map[string]item
	passes  uint32
	rows    []row          // those with the closest neighbours first
	place   map[string]int // in rows
	version uint64
	ready   bool

	timetable
	taken    func(id string) bool
	stopPass func()
	step     func() (struct{}, bool) // goes on with the pass; nil: there is none
}

// timetable says when passes over the catalogue were made, and when the next may begin.
type timetable struct {
	changes uint64    // of the catalogue when the last pass began
	indexed uint64    // of it when the known items were read
	size    int       // of it then
	reindex time.Time // when they may be read again
	asked   uint64    // of it when Due was true
	rested  time.Time // when the next pass may begin
	began   time.Time // of the last pass
}

// item is what is remembered of every item of the catalogue that the base does not know.
type item struct {
	sum  uint64  // hash of its document and of those of the index
	best float64 // similarity of the closest neighbour
	pass uint32  // the last one that saw it
}

// row is that of an item among the closest.
type row struct {
	id   string
	sum  uint64
	best float64
	near []content.Neighbour
	item model.NewItem // not made, as is the zero one, if others have the item by then
}

// New returns rows that are renewed at this interval or later. fault is told of items that get no
// row.
func New(c Catalogue, every time.Duration, fault func(error)) *Rows {
	if c == nil {
		return nil
	}
	return &Rows{catalogue: c, every: every, fault: fault, seed: maphash.MakeSeed()}
}

// Begin turns to another base. It is nil if there are to be no rows.
func (r *Rows) Begin(base *model.Model) {
	if r == nil {
		return
	}
	if r.step != nil {
		r.stopPass()
	}
	*r = Rows{catalogue: r.catalogue, every: r.every, fault: r.fault, seed: r.seed, base: base,
		version: r.version, items: map[string]item{}}
	if base != nil {
		r.degrees = trend.DegreesOf(base.NumItems(), base.Degree)
	}
}

// Due asks for a call of Renew, once for a change of the catalogue.
func (r *Rows) Due() bool {
	if r == nil || r.base == nil || time.Now().Before(r.rested) {
		return false
	}
	before := r.asked
	r.asked = r.catalogue.Changes()
	return r.asked != before
}

// Renew brings the rows to what the catalogue says now, unless that was done a short time ago. It
// calls pause all the time, whose error ends the work for this time, and goes on for about as long
// as given. more reports that there is more to do. Rows of items that are taken, as users have
// them, can wait.
func (r *Rows) Renew(
	most time.Duration, taken func(id string) bool, pause func() error,
) (more bool, err error) {
	if r == nil || r.base == nil {
		return false, nil
	}
	now := time.Now()
	r.taken = taken
	if r.step == nil {
		changes := r.catalogue.Changes()
		if r.ready && (now.Before(r.rested) || changes == r.changes &&
			(changes == r.indexed || now.Before(r.reindex))) {
			return false, nil
		}
		r.began = now
		r.step, r.stopPass = iter.Pull(r.pass)
	}
	for {
		if _, on := r.step(); !on { // or it has panicked before
			r.step = nil
			r.Rest(time.Since(r.began))
			return false, nil
		}
		if err := pause(); err != nil || time.Since(now) > most {
			return true, err
		}
	}
}

// Rest lets no pass begin for a while, which grows with the time that was worked. Of two rests the
// longer one holds.
func (r *Rows) Rest(worked time.Duration) {
	if r == nil {
		return
	}
	end := time.Now().Add(max(min(r.every, leastRest), restShare*worked))
	if end.After(r.rested) {
		r.rested = end
	}
}

// UnderWay reports whether Renew has more to do.
func (r *Rows) UnderWay() bool { return r != nil && r.step != nil }

// Ready reports whether the rows are those of the catalogue, or of what it was a short time ago.
func (r *Rows) Ready() bool { return r == nil || r.ready }

// Version moves when the rows change.
func (r *Rows) Version() uint64 {
	if r == nil {
		return 0
	}
	return r.version
}

// Near returns the closest neighbours of an item that borrows a row, nil for another one.
func (r *Rows) Near(id string) []content.Neighbour {
	if r == nil {
		return nil
	}
	if at, has := r.place[id]; has {
		return r.rows[at].near
	}
	return nil
}

// Items are the items with their rows, those with the closest neighbours first, except some.
func (r *Rows) Items(except func(id string) bool) iter.Seq[model.NewItem] {
	return func(yield func(model.NewItem) bool) {
		for i := 0; r != nil && i < len(r.rows); i++ {
			row := &r.rows[i]
			if !except(row.id) && r.make(row) && !yield(row.item) {
				return
			}
		}
	}
}

// make makes the row of an item, unless it is there.
func (r *Rows) make(x *row) bool {
	if x.item.ID == "" {
		var err error
		users := r.degrees.Expected(0, 0, r.base.DegreeNear(x.near))
		if x.item, err = r.base.Borrow(x.id, users, x.near); err != nil {
			r.fault(err)
			return false
		}
	}
	return true
}

// nearest orders rows by their closest neighbours.
func nearest(a, b *row) int { return cmp.Or(cmp.Compare(b.best, a.best), cmp.Compare(a.id, b.id)) }
