package samples

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
)

func TestItemsCountUsers(t *testing.T) {
	for _, users := range []int{1, 2, 200, Size, 5000} {
		n := New()
		for u := range users {
			n.Note(fmt.Sprintf("user-%d", u), "x")
			n.Note(fmt.Sprintf("user-%d", u/2), "x") // again
		}
		got, sample := n.Census().Counts["x"], len(n.SampleOf("x"))
		if users < Size && got != float64(users) {
			t.Errorf("%v users counted, want %d", got, users)
		}
		if math.Abs(got-float64(users)) > 0.25*float64(users) || sample != min(users, Size) {
			t.Errorf("%v users counted with a sample of %d, want about %d", got, sample, users)
		}
	}
}

// The sample depends on who has the item and on nothing else.
func TestItemsSampleHasNoOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var want []string
	for round := range 4 {
		n := New()
		for _, u := range rng.Perm(1000) {
			for range 1 + rng.IntN(2) {
				n.Note(fmt.Sprint(u), "x")
			}
		}
		got := n.SampleOf("x")
		if round == 0 {
			want = got
		}
		check.MustSame(t, want, got, "samples differ by order")
	}
}

func TestItemsForget(t *testing.T) {
	n := New()
	n.Add(1)
	n.Add(1)
	n.Note("a", "x")
	n.Note("b", "x")
	n.Note("a", "y")
	n.Forget("a")
	now := n.Census()
	check.Same(t, int64(1), now.Users, "users left of 2")
	if diff := cmp.Diff(map[string]float64{"x": 1}, now.Counts); diff != "" || !now.Stale["x"] {
		t.Errorf("after the erasure, stale %v (-want +got):\n%s", now.Stale, diff)
	}
	n.SampleOf("x")
	if n.Census().Stale["x"] {
		t.Error("stale after it was sampled anew")
	}
	n.Drop("b", "x")
	n.Drop("b", "x")
	if counts := n.Census().Counts; len(counts) != 0 {
		t.Errorf("items without users: %v", counts)
	}
}

// A full table does not stay as it is: later items take the places of those with fewer users.
func TestItemsMakeRoom(t *testing.T) {
	n := New()
	for i := range maxItems {
		for u := range 2 + i%3 {
			n.Note(fmt.Sprint(u), fmt.Sprintf("early %d", i))
		}
	}
	n.Trim()
	check.Same(t, keptItems, len(n.Census().Counts), "items are left")
	for i := range maxItems {
		for u := range 4 {
			n.Note(fmt.Sprint(u), fmt.Sprintf("late %d", i))
		}
		n.Trim()
	}
	for item, users := range n.Census().Counts {
		if users != 4 {
			t.Fatalf("%s with %v users has its place, want none but those with 4", item, users)
		}
	}
	if got := len(n.Census().Counts); got < keptItems {
		t.Errorf("%d items are left, want %d at least", got, keptItems)
	}
}

func TestItemsAreBounded(t *testing.T) {
	n := New()
	for i := range maxItems + 10 {
		n.Note("a", fmt.Sprint(i))
	}
	n.Note("b", "0")
	check.Same(t, maxItems, len(n.Census().Counts), "items")
	n.Trim()
	check.Same(t, map[string]float64{"0": 2}, n.Census().Counts, "after trim")
}

// An erased user who returns is in the samples of the items of the new life only, whether the purge
// comes before, after or between.
func TestItemsForgetThenReturn(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 7))
	for round := range 300 {
		n, want := New(), map[string]map[string]bool{}
		for range 60 {
			user, item := fmt.Sprint(rng.IntN(4)), fmt.Sprint("item ", rng.IntN(5))
			switch rng.IntN(6) {
			case 0:
				n.Forget(user)
				delete(want, user)
			case 1:
				n.Purge()
			default:
				n.Note(user, item)
				if want[user] == nil {
					want[user] = map[string]bool{}
				}
				want[user][item] = true
			}
		}
		counts := map[string]float64{}
		for _, items := range want {
			for item := range items {
				counts[item]++
			}
		}
		check.MustSame(t, counts, n.Census().Counts, "round %d", round)
	}
}

// BenchmarkItemsForget is the time of one erasure while the room for new items is used up.
func BenchmarkItemsForget(b *testing.B) {
	n := New()
	for i := range maxItems {
		for u := range 64 {
			n.Note(fmt.Sprint(i, u), fmt.Sprint(i))
		}
	}
	users := make([]string, 1<<16)
	for i := range users {
		users[i] = fmt.Sprint("user ", i)
	}
	for i := 0; b.Loop(); i++ {
		n.Forget(users[i%len(users)])
	}
}
