package offsets

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Whatever the order in which records are done, what may be committed is what a slow search finds:
// the place behind the longest run of done records. It never lies behind one that is not.
func TestTracker(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		var tracker Tracker
		var all []record // by number
		offset, committed, released := int64(random.IntN(5)), int64(-1), 0
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
			checkAgainst(t, &tracker, all, &committed)
		}
	}
}

func checkAgainst(t *testing.T, tracker *Tracker, all []record, committed *int64) {
	t.Helper()
	want, open := Position{Offset: -1}, 0
	for _, r := range all {
		if !r.done {
			open++
		} else if open == 0 {
			want = Position{Offset: r.Offset + 1, Epoch: r.Epoch}
		}
	}
	got, moved := tracker.Next()
	if moved != (want.Offset > *committed) {
		t.Fatalf("moved is %v at %v, after %d", moved, want, *committed)
	}
	if moved && got != want {
		t.Fatalf("commits %v, want %v", got, want)
	}
	*committed = max(*committed, want.Offset)
	if tracker.Empty() != (open == 0) {
		t.Fatalf("empty is %v with %d records", tracker.Empty(), open)
	}
}

// What could not be committed is reported again, but nothing before the first record is done.
func TestTrackerAgain(t *testing.T) {
	var tracker Tracker
	tracker.Again()
	if p, moved := tracker.Next(); moved {
		t.Errorf("an empty tracker commits %v", p)
	}
	if got, known := tracker.Offset(); known {
		t.Errorf("an empty tracker is at %d", got)
	}
	tracker.Begin(Position{Offset: 5}) // committed before
	tracker.Begin(Position{Offset: 7}) // the first that is still there
	n := tracker.Add(Position{Offset: 7}, 1)
	if got, known := tracker.Offset(); got != 5 || !known {
		t.Errorf("the next offset is %d (%v), want 5", got, known)
	}
	if p, moved := tracker.Next(); moved {
		t.Errorf("commits %v with nothing done", p)
	}
	tracker.Done(n)
	for range 2 {
		if p, moved := tracker.Next(); !moved || p.Offset != 8 {
			t.Errorf("commits %v (%v), want 8", p, moved)
		}
		tracker.Again()
	}
}
