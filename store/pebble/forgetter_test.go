package pebble

import (
	"fmt"
	"testing"
	"time"
)

// TestForgettingIsBounded erases more users than are remembered one by one, while none can be
// forgotten.
func TestForgettingIsBounded(t *testing.T) {
	f := newForgetter(nil, nil, time.Hour, false, 0)
	for n := range 2 * maxForgetting {
		f.add([]string{fmt.Sprint("u", n)}, uint64(n))
		if remembered := n < maxForgetting; remembered == f.everyone ||
			remembered != (len(f.users) == n+1) || len(f.users) > maxForgetting {
			t.Fatalf("%d erasures: %d users, everyone is %v", n+1, len(f.users), f.everyone)
		}
	}
	if f.shown != 2*maxForgetting || f.row != 2*maxForgetting-1 {
		t.Errorf("%d erasures up to row %d are noted", f.shown, f.row)
	}
	f.again([]string{"u"}, false)
	if !f.everyone || f.users != nil {
		t.Errorf("after another run that failed: %d users, everyone is %v", len(f.users), f.everyone)
	}
}

// TestForgettingWaitsForRepair erases the users whose rows are damaged. They begin anew, and the
// damage stays. Nothing is merged beside it, so nothing is sorted to forget them.
func TestForgettingWaitsForRepair(t *testing.T) {
	disk, events, tables := manyTables(t)
	opts := Options{FS: flipped(t, disk, tables[0], 5000, 1), eraseDelay: time.Millisecond}
	s := mustOpen(t, "store", opts)
	damaged := unreadable(t, s, events)
	if len(damaged) == 0 {
		t.Fatal("the damage harms nobody")
	}
	for user := range damaged {
		mustErase(t, s, user)
		mustAppend(t, s, user, 0, 1)
	}
	for range 10 {
		time.Sleep(20 * time.Millisecond)
		if journalRows(t, s) == 0 {
			t.Fatal("the journal was sorted in vain")
		}
	}
	for range 2 {
		for user := range damaged {
			wantRevision(t, s, user, 1)
		}
		if stats, err := s.Stats(t.Context()); stats.Damage == nil || err != nil {
			t.Errorf("Stats: %v, %v, want damage", stats.Damage, err)
		}
		s = reopen(t, s, "store", opts)
	}
	mustClose(t, s)
}
