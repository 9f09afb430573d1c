package pebble

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/gsimc/gsimc/store"
)

// replay reads the journal back into memory when the store is opened.
//
// The rows may be ahead of it: a crash can come after the sorter has written rows and before it has removed the journal. So
// an event counts if its revision is above the head in the rows. An erasure takes away what comes before it in the journal;
// whatever the rows hold of the user was written after it.
func (s *Store) replay(ctx context.Context) error {
	s.journal = &writer{next: 1}
	g := newGeneration(0)
	s.journal.begin(g)
	s.gens[0].Store(g)
	s.gens[1].Store(newGeneration(1))
	users := map[string]*replayed{}
	if err := s.eachJournalRow(ctx, users); err != nil {
		return err
	}
	g.blocks = append(g.blocks, make([][]byte, maxBlocks+spareBlocks)...)
	return s.followRows(users)
}

// replayed is what the journal says of a user.
type replayed struct {
	first  uint64 // revision of the first place
	places []place
}

func (s *Store) eachJournalRow(ctx context.Context, users map[string]*replayed) error {
	it, err := s.db.NewIter(&lsm.IterOptions{LowerBound: journalPrefix, UpperBound: firstUserKey})
	if err != nil {
		return readError(err)
	}
	defer func() { _ = it.Close() }() // its errors are those of it.Error
	for valid := it.First(); valid; valid = it.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return readError(err)
		}
		if err := s.replayRow(it.Key(), value, users); err != nil {
			return err
		}
	}
	return readIfFailed(it)
}

// replayRow keeps a copy of a row in memory and notes what is in it.
func (s *Store) replayRow(key, value []byte, users map[string]*replayed) error {
	number, err := journalNumber(key)
	if err != nil {
		return err
	}
	w := s.journal
	if cap(w.block)-len(w.block) < len(value) {
		w.block = make([]byte, 0, max(blockBytes, len(value)))
		if w.gen.used == len(w.gen.blocks) {
			w.gen.blocks = append(w.gen.blocks, nil)
		}
		w.gen.blocks[w.gen.used] = w.block[:cap(w.block)]
		w.gen.used++
	}
	base := len(w.block)
	w.block = append(w.block, value...)
	w.start = len(w.block)
	w.gen.bytes += len(value)
	w.gen.last, w.next = number, number+1
	block := place(w.gen.used-1) << 32
	return readJournal(key, value, func(user []byte, revision uint64, at int) {
		u := users[string(user)]
		if u == nil {
			u = &replayed{}
			users[string(user)] = u
		}
		switch {
		case revision == 0:
			*u = replayed{places: u.places[:0]}
			s.sortSoon()
			return
		case revision != u.first+uint64(len(u.places)): // what came before is in rows, or was erased
			*u = replayed{first: revision, places: u.places[:0]}
		}
		u.places = append(u.places, block|place(base+at))
	})
}

// followRows puts the histories with events in the journal into memory, each after what there is in rows. If events between
// the two are missing, the history keeps the gap, in the rows too once it is sorted: whoever reads it meets the damage.
func (s *Store) followRows(users map[string]*replayed) error {
	r, err := s.newReader()
	if err != nil {
		return err
	}
	defer r.close()
	names := slices.SortedFunc(maps.Keys(users), func(a, b string) int { // as their keys
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	g := s.journal.gen
	for _, user := range names {
		u := users[user]
		if len(u.places) == 0 {
			continue
		}
		h := &history{user: user}
		rows, err := r.head(user)
		if errors.Is(err, store.ErrCorrupt) {
			// The journal has everything from some sort on. To sort that again gives the same rows, and a head.
			rows, err = u.first-1, nil
		}
		if err != nil {
			return err // perhaps not for ever; without the head the sorter would lose these events
		}
		last := u.first + uint64(len(u.places)) - 1
		if last <= rows {
			continue
		}
		h.head = last
		h.tails[0] = u.places[max(rows+1, u.first)-u.first:]
		h.shown.head, h.shown.tails = h.head, h.tails
		g.dirty = append(g.dirty, h)
		s.histories.put(h)
	}
	return nil
}
