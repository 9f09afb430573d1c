package recent

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
)

// A Replay reads the journal back into memory when a store is opened: [Replay.Row] for each of its
// rows, in order, then [Replay.End].
//
// The rows of users may be ahead of the journal: a crash can come after the sorter has written them
// and before it has removed the journal. So an event counts if its revision is above the head in
// rows. An erasure takes away everything before it in the journal. Rows of a user who was erased
// were written after the erasure.
//
// Behind missing rows nobody can tell whether a user was erased in them and came back. So a history
// does not go on over such a gap: it begins behind it, unless the rows of the user have what came
// before.
type Replay struct {
	histories *Histories
	w         writer
	users     map[string]*replayed
	erased    bool
	gaps      int // in the journal so far
	births    int64
	deaths    int64
}

// replayed is the part of the journal of one user.
type replayed struct {
	first  uint64 // revision of the first place
	mark   uint64 // of this life, if the journal has its first event; else 0
	gaps   int    // before the last place
	places []Place
}

// Replay begins to fill the histories, which must be empty, from the journal, of which the rows up
// to a number have been removed.
func (hs *Histories) Replay(emptied uint64) *Replay {
	r := &Replay{histories: hs, w: writer{next: emptied + 1}, users: map[string]*replayed{}}
	g := newGeneration(0)
	r.w.begin(g)
	hs.gens[0].Store(g)
	hs.gens[1].Store(newGeneration(1))
	return r
}

// Erased reports whether the journal holds an erasure, and so perhaps events of an erased user.
func (r *Replay) Erased() bool { return r.erased }

// Row keeps a copy of a row in memory and notes its events.
func (r *Replay) Row(key, value []byte) error {
	number, err := row.JournalNumber(key)
	if err != nil {
		return err
	}
	w, g := &r.w, r.w.gen
	if number != w.next {
		r.gaps++
	}
	if cap(w.block)-len(w.block) < len(value) {
		w.block = make([]byte, 0, max(blockBytes, len(value)))
		if g.used == len(g.blocks) {
			g.blocks = append(g.blocks, nil)
		}
		g.blocks[g.used] = w.block[:cap(w.block)]
		g.used++
	}
	base := Place(g.used-1)<<32 | Place(len(w.block))
	w.block = append(w.block, value...)
	w.start = len(w.block)
	g.bytes += len(value)
	g.last, w.next = number, number+1
	err = row.EachEntry(key, value, func(user []byte, v store.Version, at int) {
		r.entry(user, v, base+Place(at))
	})
	if err != nil { // the caller may go on without this row
		r.gaps++
	}
	return err
}

func (r *Replay) entry(user []byte, v store.Version, at Place) {
	u := r.users[string(user)]
	if u == nil {
		u = &replayed{}
		r.users[string(user)] = u
	}
	switch {
	case v.Revision == 0:
		*u = replayed{places: u.places[:0]}
		r.erased = true
		r.deaths++
		return
	case len(u.places) > 0 && u.gaps != r.gaps:
		*u = replayed{first: v.Revision, places: u.places[:0]}
	// the events before are in rows, or were erased
	case v.Revision != u.first+uint64(len(u.places)):
		*u = replayed{first: v.Revision, mark: u.mark, places: u.places[:0]}
	}
	if v.Revision == 1 {
		u.mark = v.Mark
		r.births++
	}
	u.places, u.gaps = append(u.places, at), r.gaps
}

// End puts the histories with events in the journal into memory, each after its rows, and returns
// the editor of the histories. head is to return the version of a user's last event in rows, and
// mark the mark of a history of which no other is known: one from before there were marks, or one
// whose head is damaged.
//
// users is their number as of the last row that was removed from the journal; negative: not known,
// which stays so.
//
// If events between the rows and the journal are missing, the history keeps the gap, in rows too
// once it is sorted, so that a reader meets the damage.
func (r *Replay) End(
	users int64, head func(user string) (store.Version, error), mark func(user string) uint64,
) (*Editor, error) {
	g := r.w.gen
	g.blocks = append(g.blocks, make([][]byte, maxBlocks+spareBlocks)...)
	for _, user := range slices.SortedFunc(maps.Keys(r.users), compareUsers) {
		u := r.users[user]
		if len(u.places) == 0 {
			continue
		}
		rows, err := head(user)
		if errors.Is(err, store.ErrCorrupt) {
			// The journal has everything from some sort on. To sort it again gives the same rows,
			// and a head.
			rows, err = store.Version{Revision: u.first - 1}, nil
		}
		if err != nil {
			// perhaps not for ever; without the head the sorter would lose these events
			return nil, err
		}
		last := u.first + uint64(len(u.places)) - 1
		if last <= rows.Revision {
			continue
		}
		h := NewHistory(user, store.Version{Revision: last,
			Mark: cmp.Or(rows.Mark, u.mark, mark(user))})
		h.tails[0] = u.places[max(rows.Revision+1, u.first)-u.first:]
		h.shown.tails = h.tails
		g.dirty = append(g.dirty, h)
		r.histories.put(h)
	}
	return &Editor{histories: r.histories, w: r.w, users: users + r.births - r.deaths,
		uncounted: users < 0 || r.gaps > 0}, nil
}
