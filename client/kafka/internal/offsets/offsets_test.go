package offsets

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTracker marks records as done in random orders. Up to which place they may be committed is
// compared with a slow search for the first record that is not done.
func TestTracker(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		var tracker Tracker
		var all []record // by number
		offset, released := int64(random.IntN(5)), 0
		for range 200 {
			if random.IntN(2) == 0 {
				offset += 1 + int64(random.IntN(3)) // a topic may have gaps
				p := Position{Offset: offset, Epoch: int32(offset / 50)}
				tracker.Begin(p)
				if got := tracker.Add(p, len(all)+1); got != len(all) {
					t.Fatalf("seed %d: record %d has number %d", seed, len(all), got)
				}
				all = append(all, record{Position: p})
			} else if n := random.IntN(len(all) + 1); n < len(all) && !all[n].done {
				all[n].done = true
				released += tracker.Done(n)
			}
			open := slices.IndexFunc(all, func(r record) bool { return !r.done })
			if open < 0 {
				open = len(all)
			}
			if want := open * (open + 1) / 2; released != want { // of those before the first that is open
				t.Fatalf("seed %d: %d released, want %d", seed, released, want)
			}
			checkAgainst(t, &tracker, all)
		}
	}
}

func checkAgainst(t *testing.T, tracker *Tracker, all []record) {
	t.Helper()
	var want Position
	open := 0
	for i, r := range all {
		if i == 0 {
			want = r.Position
		}
		if !r.done {
			open++
		} else if open == 0 {
			want = Position{Offset: r.Offset + 1, Epoch: r.Epoch}
		}
	}
	if got, known := tracker.Next(); got != want || known != (len(all) > 0) {
		t.Fatalf("next is %v (%v), want %v", got, known, want)
	}
	if tracker.Empty() != (open == 0) {
		t.Fatalf("empty is %v with %d records", tracker.Empty(), open)
	}
}

// The place where the group was counts before that of the first record.
func TestTrackerBegins(t *testing.T) {
	var tracker Tracker
	tracker.Begin(Position{Offset: 5})
	tracker.Begin(Position{Offset: 7})
	n := tracker.Add(Position{Offset: 7}, 1)
	if got, _ := tracker.Next(); got.Offset != 5 {
		t.Errorf("next is %v, want 5", got)
	}
	tracker.Done(n)
	if got, _ := tracker.Next(); got.Offset != 8 {
		t.Errorf("next is %v, want 8", got)
	}
}
