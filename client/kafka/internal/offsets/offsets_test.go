package offsets

import (
	"math/rand/v2"
	"testing"
)

// Whatever the order in which records are done, what may be committed is what a slow search finds:
// the place behind the longest run of done records. It never lies behind one that is not.
func TestTracker(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		var tracker Tracker
		var all []record // by number
		offset, committed := int64(random.IntN(5)), int64(-1)
		for range 200 {
			if random.IntN(2) == 0 {
				offset += 1 + int64(random.IntN(3)) // a topic may have gaps
				p := Position{Offset: offset, Epoch: int32(offset / 50)}
				if got := tracker.Add(p); got != len(all) {
					t.Fatalf("seed %d: record %d has number %d", seed, len(all), got)
				}
				all = append(all, record{Position: p})
			} else if n := random.IntN(len(all) + 1); n < len(all) && !all[n].done {
				all[n].done = true
				tracker.Done(n)
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
	select {
	case <-tracker.Empty():
		if open > 0 {
			t.Fatalf("empty with %d records", open)
		}
	default:
		if open == 0 {
			t.Fatal("not empty without records")
		}
	}
}

// What could not be committed is reported again, but nothing before the first record is done.
func TestTrackerAgain(t *testing.T) {
	var tracker Tracker
	tracker.Again()
	if p, moved := tracker.Next(); moved {
		t.Errorf("an empty tracker commits %v", p)
	}
	empty := tracker.Empty()
	<-empty
	n := tracker.Add(Position{Offset: 7})
	if got := tracker.Offset(9); got != 7 {
		t.Errorf("the next offset is %d, want 7", got)
	}
	waits := tracker.Empty()
	tracker.Done(n)
	<-waits
	for range 2 {
		if p, moved := tracker.Next(); !moved || p.Offset != 8 {
			t.Errorf("commits %v (%v), want 8", p, moved)
		}
		tracker.Again()
	}
}
