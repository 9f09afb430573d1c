package pebble

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
)

// skipped wants an error that says what was skipped, or nil.
func skipped(t *testing.T, err error) store.SkippedError {
	t.Helper()
	if err == nil {
		return store.SkippedError{}
	}
	skip, ok := errors.AsType[*store.SkippedError](err)
	if !ok {
		t.Fatalf("got %v, want a SkippedError", err)
	}
	return *skip
}

// listed returns the revisions of the users that Users finds, each once.
func listed(t *testing.T, s store.Store) (map[string]uint64, store.SkippedError) {
	t.Helper()
	users := map[string]uint64{}
	err := s.Each(t.Context(), 0, 1, func(user string, head store.Version) error {
		if _, twice := users[user]; twice {
			t.Errorf("%s is listed twice", user)
		}
		users[user] = head.Revision
		return nil
	})
	return users, skipped(t, err)
}

// eachOnce returns the number of events that Each finds of each user, and wants them in order.
func eachOnce(t *testing.T, disk vfs.FS) (map[string]int, store.SkippedError) {
	t.Helper()
	r, err := OpenReadOnly("store", Options{FS: disk})
	check.Must(t, err)
	defer func() {
		check.Pass(t, r.Close(), "Close")
	}()
	users := map[string]int{}
	err = r.Each(t.Context(), func(user string, revision uint64, e store.Event) error {
		if int(revision) != users[user]+1 || e.ID != bigEvent(users[user]).ID {
			t.Fatalf("%s: revision %d is %s after %d events", user, revision, e.ID, users[user])
		}
		users[user]++
		return nil
	})
	return users, skipped(t, err)
}

// TestUsersSkipDamage flips bits in tables: Users and Each find all users who can be read, and say
// that others may be missing.
func TestUsersSkipDamage(t *testing.T) {
	t.Parallel()
	soak.Native(t)
	disk, events, tables := manyTables(t)
	rng := rand.New(rand.NewPCG(9, 9))
	flips := soak.Times(2 * len(tables))
	harmful := 0
	for i := range flips {
		path := tables[i%len(tables)]
		at := rng.IntN(sizeOf(t, disk, path) - 200)
		damaged := flipped(t, disk, path, at, 1<<rng.IntN(8))
		each, eachSkipped := eachOnce(t, damaged)
		s := mustOpen(t, "store", Options{FS: damaged})
		if i%2 == 0 { // and the journal says more than the rows
			appendBig(t, s, events, events+1)
		}
		users, usersSkipped := listed(t, s)
		want := events + (i+1)%2
		refused := unreadable(t, s, want)
		mustClose(t, s)
		for u := range manyUsers {
			user := numbered(u)
			switch {
			case !refused[user] && (users[user] != uint64(want) || each[user] != events):
				t.Fatalf("%s, byte %d: a user who can be read has revision %d, and %d events",
					path, at, users[user], each[user])
			case refused[user] && each[user] == events:
				t.Errorf("%s, byte %d: Each reads a user who cannot be read", path, at)
			}
		}
		none := store.SkippedError{}
		if len(users) < manyUsers && usersSkipped == none || len(refused) > 0 && eachSkipped == none {
			t.Errorf("%s, byte %d: %d users are listed and %d refused, skipped %+v and %+v", path,
				at, len(users), len(refused), usersSkipped, eachSkipped)
		}
		if len(refused) > 0 {
			harmful++
		}
	}
	if harmful < flips/2 {
		t.Errorf("%d of %d flips did harm, want more", harmful, flips)
	}
	soak.Injected(t, flips, "flipped bits")
}

// TestUsersOfWholeStore wants no error of a store that is whole, and the callback's own error as it
// is, even if that says that something is damaged.
func TestUsersOfWholeStore(t *testing.T) {
	disk := newDisk()
	s := mustOpen(t, "store", Options{FS: disk})
	appendBig(t, s, 0, 2)
	flush(t, s)
	appendBig(t, s, 2, 3)
	if users, skip := listed(t, s); len(users) != manyUsers || skip != (store.SkippedError{}) {
		t.Errorf("%d users, skipped %+v", len(users), skip)
	}
	own := &store.DamageError{}
	returned := s.Each(t.Context(), 0, 1, func(string, store.Version) error { return own })
	if returned != error(own) {
		t.Errorf("Each returns %v", returned)
	}
	mustClose(t, s)
	if users, skip := eachOnce(t, disk); len(users) != manyUsers || skip != (store.SkippedError{}) {
		t.Errorf("%d users, skipped %+v", len(users), skip)
	}
	r, err := OpenReadOnly("store", Options{FS: disk})
	check.Must(t, err)
	defer r.Close()
	err = r.Each(t.Context(), func(string, uint64, store.Event) error { return own })
	if err != error(own) {
		t.Errorf("Each returns %v", err)
	}
}
