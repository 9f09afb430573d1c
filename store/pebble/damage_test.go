package pebble

import (
	"context"
	"errors"
	"strings"
	"testing"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
	"github.com/gsimc/gsimc/store/storetest"
)

// TestDamagedHistory damages rows of one user: an Append that meets one says which record it is,
// and goes without it.
func TestDamagedHistory(t *testing.T) {
	disk := vfs.NewMem()
	s := mustOpen(t, "store", Options{FS: disk})
	for _, user := range []string{"good", "bad head", "bad events"} {
		mustAppend(t, s, user, 0, 2)
	}
	flush(t, s)
	for _, key := range [][]byte{row.HeadKey(nil, "bad head"), row.EventKey(nil, "bad events", 1)} {
		check.Must(t, s.engine.DB.Set(key, []byte("damaged"), lsm.Sync))
	}
	mustClose(t, s) // and forget the histories in memory
	s = mustOpen(t, "store", Options{FS: disk})
	for _, test := range []struct {
		user  string
		event int
		want  uint64 // revision, 0: ErrCorrupt
	}{
		{"good", 1, 2},
		{"good", 2, 3},
		{"bad head", 2, 0},
		{"bad events", 0, 0},
		{"bad events", 2, 0}, // it may be new or not
	} {
		first := store.Record{User: "first " + test.user, Event: testEvent(test.event)}
		before := check.Get(storetest.Revision(context.Background(), s, first.User))(t)
		got, err := s.Append(context.Background(),
			[]store.Record{first, {User: test.user, Event: testEvent(test.event)}, first})
		if err != nil || got[0].Revision != before+1 || got[0].Err != nil || !got[2].Duplicate {
			t.Errorf("%s, event %d: the other records: %+v, %v", test.user, test.event, got, err)
			continue
		}
		if test.want != 0 {
			if got[1].Revision != test.want || got[1].Duplicate != (test.event < 2) {
				t.Errorf("%s, event %d: got %+v, want revision %d", test.user, test.event, got[1],
					test.want)
			}
			continue
		}
		if err := got[1].Err; !errors.Is(err, store.ErrCorrupt) ||
			strings.Contains(err.Error(), test.user) {
			t.Errorf("%s, event %d: got %+v, want ErrCorrupt without ids", test.user, test.event,
				got[1])
		}
	}
	for _, user := range []string{"bad head", "bad events"} {
		mustErase(t, s, user)
		mustAppend(t, s, user, 0, 1)
		wantRevision(t, s, user, 1)
	}
	mustClose(t, s)
}

// TestDamagedHeadOfJournal damages the head of a user whose newest events are in the journal: none
// of them is lost.
func TestDamagedHeadOfJournal(t *testing.T) {
	disk := vfs.NewMem()
	s := mustOpen(t, "store", Options{FS: disk})
	mustAppend(t, s, "u", 0, 3)
	flush(t, s)
	mustAppend(t, s, "u", 3, 5)
	check.Must(t, s.engine.DB.Set(row.HeadKey(nil, "u"), []byte("damaged"), lsm.Sync))
	mustClose(t, s)
	for _, when := range []string{"in the journal", "in rows"} {
		s = mustOpen(t, "store", Options{FS: disk})
		if rows := journalRows(t, s); (rows > 0) != (when == "in the journal") {
			t.Fatalf("%s: the journal has %d rows", when, rows)
		}
		check.Must(t, storetest.Read(t.Context(), s, "u", 0, func(r uint64, e store.Event) error {
			check.Same(t, testEvent(int(r-1)).ID, e.ID, "%s: event %d", when, r)
			return nil
		}))
		wantRevision(t, s, "u", 5)
		flush(t, s)
		mustClose(t, s)
	}
}
