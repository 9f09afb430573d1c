package recent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
)

// TestWriter writes entries, some of which are removed again, and reads the rows.
func TestWriter(t *testing.T) {
	w := &writer{next: 3}
	w.begin(newGeneration(0))
	event := func(i int) *store.Event {
		return &store.Event{ID: fmt.Sprint("e", i), Item: strings.Repeat("i", 200), Value: 1}
	}
	var want []string
	places := map[string]Place{}
	write := func(i int) {
		place := w.event("u", store.Version{Revision: uint64(i), Mark: 7}, event(i))
		places[event(i).ID] = place
		want = append(want, event(i).ID)
	}
	for i := 1; i < 10_000; i++ { // some blocks
		write(i)
		if i%500 == 0 {
			mark := w.mark()
			for j := range 2 * i {
				w.event("removed", store.Version{Revision: uint64(j + 1)}, event(0))
			}
			w.back(mark)
		}
	}
	w.erase("u")
	want = append(want, "erased")
	w.closeRow()
	w.closeRow() // there is nothing in it
	var got []string
	next := uint64(3)
	for _, r := range w.rows {
		check.Same(t, next, r.number, "number of the next row")
		next++
		err := row.EachEntry(row.JournalKey(nil, r.number), r.value,
			func(user []byte, v store.Version, at int) {
				check.Same(t, "u", string(user), "user of an entry")
				if v.Revision == 0 {
					got = append(got, "erased")
					return
				}
				got = append(got, string(check.Get(row.EventID(row.EventAt(r.value[at:])))(t)))
			})
		check.Must(t, err)
	}
	if len(w.rows) < 2 || w.gen.used < 2 {
		t.Fatalf("%d rows in %d blocks: the test wants more", len(w.rows), w.gen.used)
	}
	check.Same(t, want, got, "entries")
	for id, place := range places {
		at := check.Get(row.EventID(w.gen.Event(place)))(t)
		check.MustSame(t, id, string(at), "the id at its place")
	}
}

// TestErasureIsCountedAlike erases a history whose head has been lost: a replay finds as many users as
// the editor counts.
func TestErasureIsCountedAlike(t *testing.T) {
	head := func(string) (store.Version, error) { return store.Version{}, nil }
	none := func(string) uint64 { return 1 }
	editor := check.Get(New(1<<20).Replay(0).End(3, head, none))(t)
	editor.Erase(editor.Put(NewHistory("u", store.Version{})), noRows{})
	editor.TakeGroup()
	replay := New(1 << 20).Replay(0)
	check.Must(t, editor.TakeRows(replay.Row))
	again, err := replay.End(3, head, none)
	if err != nil || again.Users() != 2 || editor.Users() != 2 {
		t.Errorf("%d users, replayed %d, %v, want 2", editor.Users(), again.Users(), err)
	}
}

// TestLargeCall writes more into a generation that is as full as it may be than there are places
// for blocks: one call is not divided.
func TestLargeCall(t *testing.T) {
	if testing.Short() {
		t.Skip("needs 130 MB")
	}
	w := &writer{next: 1}
	w.begin(newGeneration(0))
	w.gen.used = maxBlocks
	e := store.Event{
		ID: "e0", Item: strings.Repeat("i", store.MaxIDBytes),
		Type: strings.Repeat("t", store.MaxIDBytes), Value: 1,
	}
	var last Place
	for revision := range uint64(80 << 20 / 600) {
		last = w.event("u", store.Version{Revision: revision + 1}, &e)
	}
	got, err := row.DecodeEvent(w.gen.Event(last))
	if err != nil || got.ID != e.ID || got.Type != e.Type {
		t.Errorf("the last event: got %+v, %v", got, err)
	}
}
