package recent

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
)

// world is a store around histories, without a disk: it has a map for the rows of users, and does
// one thing after the other.
type world struct {
	t         *testing.T
	rng       *rand.Rand
	histories *Histories
	editor    *Editor
	rows      map[string]store.Version // heads in rows
	shown     map[string]store.Version // heads that readers see
	planned   map[string]store.Version
	group     *Group                   // under way to the disk, or nil
	ofGroup   map[string]store.Version // heads that readers see once it is shown
	gen       *Generation              // being sorted, or nil
	unsorted  []*History               // of it
	erased    []string                 // since the last group
	events    int
}

type noRows struct{}

func (noRows) Close() error { return nil }

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), histories: New(0),
		rows: map[string]store.Version{}, shown: map[string]store.Version{}, planned: map[string]store.Version{},
	}
	w.editor = check.Get(w.histories.Replay(0).End(0, nil, nil))(t)
	return w
}

// step does something that a committer, a syncer or a sorter does.
func (w *world) step() {
	user := fmt.Sprint("user ", w.rng.IntN(12))
	switch at := w.rng.IntN(20); {
	case at < 8:
		w.append(user)
	case at < 10:
		w.erase(user)
	case at < 13:
		w.commit()
	case at < 16:
		w.show()
	default:
		w.sort()
	}
}

func (w *world) history(user string) *History {
	if h := w.histories.Get(user); h != nil {
		return h
	}
	return w.editor.Put(NewHistory(user, w.rows[user]))
}

func (w *world) append(user string) {
	w.events++
	w.editor.Begin()
	w.planned[user] = w.editor.Add(w.history(user), &store.Event{ID: fmt.Sprint(w.events)}, 1)
	w.editor.Keep()
}

func (w *world) erase(user string) {
	h := w.history(user)
	if w.editor.Empty(h) {
		return
	}
	w.editor.Erase(h, noRows{})
	delete(w.planned, user)
	w.erased = append(w.erased, user)
}

func (w *world) commit() {
	if w.group != nil {
		return
	}
	w.group, w.ofGroup = w.editor.TakeGroup(), maps.Clone(w.planned)
	for _, user := range w.erased {
		delete(w.rows, user)
	}
	w.erased = w.erased[:0]
	check.Must(w.t, w.editor.TakeRows(func(_, _ []byte) error { return nil }))
}

func (w *world) show() {
	if w.group != nil {
		w.histories.Show(w.group)
		w.group, w.shown = nil, w.ofGroup
	}
}

// sort writes the rows of one user, or begins with another generation.
func (w *world) sort() {
	switch {
	case len(w.erased) > 0: // the sorter waits for the removal of rows
	case len(w.unsorted) > 0:
		h := w.unsorted[0]
		w.unsorted = w.unsorted[1:]
		if tail := w.gen.Tail(h); len(tail) > 0 {
			head := h.InRows()
			head.Revision += uint64(len(tail))
			w.rows[h.User()] = head
			w.gen.Moved(h)
		}
	default:
		w.commit()
		w.show()
		w.commit()
		w.show()
		if w.gen = w.editor.Next(); w.gen != nil {
			w.unsorted = w.gen.Histories()
		}
		w.editor.TrimShards(0, shardCount)
	}
}

// TestHeadsAreOfOneMoment freezes the shards and copies them while histories change: the heads,
// with the rows of the same moment, are those that readers saw then. Changes that are shown do not
// wait for the copy, or the test would not end.
func TestHeadsAreOfOneMoment(t *testing.T) {
	changed := 0
	seeds := soak.Times(200)
	for seed := range uint64(seeds) {
		w := newWorld(t, seed)
		for range 10 {
			for range w.rng.IntN(60) {
				w.step()
			}
			want := maps.Clone(w.shown)
			var got map[string]store.Version
			pin := func() error { got = maps.Clone(w.rows); return nil }
			check.Must(t, w.histories.freeze(pin))
			heads := map[string]store.Version{}
			for i := range w.histories.shards {
				if w.rng.IntN(30) == 0 {
					w.step()
				}
				w.histories.shards[i].copyHeads(heads)
			}
			maps.Copy(got, heads)
			maps.DeleteFunc(got, func(_ string, v store.Version) bool { return v.Revision == 0 })
			check.MustSame(t, want, got, "seed %d: heads", seed)
			if !maps.Equal(want, w.shown) {
				changed++
			}
		}
	}
	if changed < seeds/2 {
		t.Errorf("histories changed during %d of %d copies only", changed, 10*seeds)
	}
	soak.Injected(t, changed, "changes during copies")
}

// TestHeadsWithoutRows fails to pin the rows: nothing is left frozen.
func TestHeadsWithoutRows(t *testing.T) {
	w := newWorld(t, 1)
	for range 100 {
		w.step()
	}
	if _, err := w.histories.Heads(func() error { return store.ErrFailed }); err == nil {
		t.Fatal("no error")
	}
	for i := range w.histories.shards {
		if w.histories.shards[i].saved != nil {
			t.Fatalf("shard %d is frozen", i)
		}
	}
}
