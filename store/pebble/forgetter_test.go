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

// TestForgettingWaitsForRepair erases a user of a store with a damaged table, in which nothing is
// merged: nothing is sorted for that.
func TestForgettingWaitsForRepair(t *testing.T) {
	disk, events, tables := manyTables(t)
	s := mustOpen(t, "store", Options{FS: flipped(t, disk, tables[0], 5000, 1),
		eraseDelay: time.Millisecond})
	damaged := unreadable(t, s, events)
	if len(damaged) == 0 {
		t.Fatal("the damage harms nobody")
	}
	for user := range damaged {
		if _, err := s.Erase(t.Context(), user); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		time.Sleep(20 * time.Millisecond)
		if journalRows(t, s) == 0 {
			t.Fatal("the journal was sorted in vain")
		}
	}
	mustClose(t, s)
}
