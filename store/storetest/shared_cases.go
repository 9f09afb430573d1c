package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gsimc/gsimc/store"
)

// sharedCases are about what the processes that share a store agree on. Stores that are no
// store.Shared skip them.
var sharedCases = []testCase{
	{
		name: "lease",
		explanation: "one holder has a lease at a time; it may prolong it; a term rises with " +
			"every new holder, and stays with one who takes the lease again and was not followed",
		run: shared(runLease),
	},
	{
		name:        "lease-race",
		explanation: "of several who ask for a lease at the same time one gets it",
		run:         shared(runLeaseRace),
	},
	{
		name: "notes",
		explanation: "a note is what was last written under its topic and name, bytes for bytes; " +
			"topics do not touch each other, and the names of a topic come sorted",
		run: shared(runNotes),
	},
	{
		name: "notes-fenced",
		explanation: "a write of notes with a fence takes place only while nobody has got a " +
			"later term of the lease",
		run: shared(runNotesFenced),
	},
}

// shared makes a case of one for shared stores.
func shared(run func(t *tester, s store.Shared)) func(t *tester) {
	return func(t *tester) {
		s, ok := t.Store.(store.Shared)
		if !ok {
			t.Skip("the store is not for several processes")
		}
		run(t, s)
	}
}

// wantLease asks for the lease "l" and checks the answer.
func (t *tester) wantLease(
	s store.Shared, holder string, ttl time.Duration, term uint64, held bool,
) {
	t.Helper()
	gotTerm, gotHeld, err := s.Lease(t.ctx, "l", holder, ttl)
	if err != nil || gotTerm != term || gotHeld != held {
		t.Errorf("Lease for %s: got %d, %v, %v, want %d, %v", holder, gotTerm, gotHeld, err, term,
			held)
	}
}

func runLease(t *tester, s store.Shared) {
	t.wantLease(s, "a", time.Hour, 1, true)
	t.wantLease(s, "a", time.Hour, 1, true)
	t.wantLease(s, "b", time.Hour, 1, false)
	if _, held, err := s.Lease(t.ctx, "other", "b", time.Hour); err != nil || !held {
		t.Errorf("another lease: %v, %v", held, err)
	}
	t.succeed(s.Release(t.ctx, "l", "b")) // it is not that of b
	t.wantLease(s, "b", time.Hour, 1, false)
	t.succeed(s.Release(t.ctx, "l", "a"))
	t.wantLease(s, "a", time.Hour, 1, true)
	t.succeed(s.Release(t.ctx, "l", "a"))
	t.wantLease(s, "b", 50*time.Millisecond, 2, true)
	time.Sleep(100 * time.Millisecond)
	t.wantLease(s, "a", time.Hour, 3, true)
	t.wantLease(s, "b", time.Hour, 3, false)
}

func runLeaseRace(t *tester, s store.Shared) {
	for round := range 20 {
		var winners atomic.Int64
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				_, held, err := s.Lease(t.ctx, fmt.Sprint("lease-", round), fmt.Sprint(i),
					time.Hour)
				if err != nil {
					t.Errorf("Lease: %v", err)
				}
				if held {
					winners.Add(1)
				}
			})
		}
		all.Wait()
		if n := winners.Load(); n != 1 {
			t.Errorf("round %d: %d holders", round, n)
		}
	}
}

func runNotes(t *tester, s store.Shared) {
	large := bytes.Repeat([]byte("\x00\xff 0123456789abc"), 1<<16)
	put := func(topic, name string, value []byte) {
		t.Helper()
		t.succeed(s.PutNote(t.ctx, topic, name, value, store.Fence{}))
	}
	want := func(topic, name string, value []byte) {
		t.Helper()
		got, found, err := s.Note(t.ctx, topic, name)
		if err != nil || found != (value != nil) || !bytes.Equal(got, value) {
			t.Errorf("Note %q %q: %d bytes, %v, %v, want %d bytes", topic, name, len(got), found,
				err, len(value))
		}
	}
	put("topic", "b", []byte("1"))
	put("topic", "a\x00{x}", []byte("2"))
	put("topic", "\xff", large)
	put("other", "b", []byte("3"))
	put("topic", "b", []byte{})
	want("topic", "b", []byte{})
	want("topic", "a\x00{x}", []byte("2"))
	want("topic", "\xff", large)
	want("other", "b", []byte("3"))
	want("other", "\xff", nil)
	names, err := s.NoteNames(t.ctx, "topic")
	if err != nil || !slices.Equal(names, []string{"a\x00{x}", "b", "\xff"}) {
		t.Errorf("NoteNames: %q, %v", names, err)
	}
	t.succeed(s.DeleteNotes(t.ctx, "topic", []string{"b", "\xff", "nothing"}, store.Fence{}))
	if names, err := s.NoteNames(t.ctx, "topic"); err != nil || len(names) != 1 {
		t.Errorf("NoteNames after DeleteNotes: %q, %v", names, err)
	}
	want("topic", "b", nil)
	want("other", "b", []byte("3"))
	if names, err := s.NoteNames(t.ctx, "nothing"); err != nil || len(names) != 0 {
		t.Errorf("NoteNames of nothing: %q, %v", names, err)
	}
	err = s.PutNote(t.ctx, "", "name", nil, store.Fence{})
	t.fails(err, store.ErrInvalid, "PutNote without a topic")
}

func runNotesFenced(t *tester, s store.Shared) {
	t.wantLease(s, "a", 50*time.Millisecond, 1, true)
	first := store.Fence{Lease: "l", Term: 1}
	t.succeed(s.PutNote(t.ctx, "t", "n", []byte("of a"), first))
	time.Sleep(100 * time.Millisecond)
	t.succeed(s.PutNote(t.ctx, "t", "n", []byte("late"), first)) // nobody has followed the holder
	t.wantLease(s, "b", time.Hour, 2, true)
	err := s.PutNote(t.ctx, "t", "n", []byte("too late"), first)
	t.fails(err, store.ErrLeaseLost, "PutNote of a former holder")
	err = s.DeleteNotes(t.ctx, "t", []string{"n"}, first)
	t.fails(err, store.ErrLeaseLost, "DeleteNotes of a former holder")
	err = s.PutNote(t.ctx, "t", "n", nil, store.Fence{Lease: "never", Term: 1})
	t.fails(err, store.ErrLeaseLost, "PutNote with a lease that nobody ever had")
	if got, _, err := s.Note(t.ctx, "t", "n"); string(got) != "late" || err != nil {
		t.Errorf("Note: %q, %v", got, err)
	}
	t.succeed(s.DeleteNotes(t.ctx, "t", []string{"n"}, store.Fence{Lease: "l", Term: 2}))
}
