package coldstart

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestItemsCountUsers(t *testing.T) {
	for _, users := range []int{1, 2, 200, sampleUsers, 5000} {
		n := newItems()
		for u := range users {
			n.note(fmt.Sprintf("user-%d", u), "x")
			n.note(fmt.Sprintf("user-%d", u/2), "x") // again
		}
		got, sample := n.census().counts["x"], len(n.sampleOf("x"))
		if users < sampleUsers && got != float64(users) {
			t.Errorf("%v users counted, want %d", got, users)
		}
		if math.Abs(got-float64(users)) > 0.25*float64(users) || sample != min(users, sampleUsers) {
			t.Errorf("%v users counted with a sample of %d, want about %d", got, sample, users)
		}
	}
}

// The sample depends on who has the item and on nothing else.
func TestItemsSampleHasNoOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var want []string
	for round := range 4 {
		n := newItems()
		for _, u := range rng.Perm(1000) {
			for range 1 + rng.IntN(2) {
				n.note(fmt.Sprint(u), "x")
			}
		}
		got := n.sampleOf("x")
		if round == 0 {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("samples differ by order:\n%s", diff)
		}
	}
}

func TestItemsForget(t *testing.T) {
	n := newItems()
	n.arrived()
	n.arrived()
	n.note("a", "x")
	n.note("b", "x")
	n.note("a", "y")
	n.forget("a")
	now := n.census()
	if now.users != 1 {
		t.Errorf("%d users are left of 2", now.users)
	}
	if diff := cmp.Diff(map[string]float64{"x": 1}, now.counts); diff != "" || !now.stale["x"] {
		t.Errorf("after the erasure, stale %v (-want +got):\n%s", now.stale, diff)
	}
	n.sampleOf("x")
	if n.census().stale["x"] {
		t.Error("stale after it was sampled anew")
	}
	n.drop("b", "x")
	n.drop("b", "x")
	if counts := n.census().counts; len(counts) != 0 {
		t.Errorf("items without users: %v", counts)
	}
}

// A full table does not stay as it is: later items take the places of those with fewer users.
func TestItemsMakeRoom(t *testing.T) {
	n := newItems()
	for i := range maxItems {
		for u := range 2 + i%3 {
			n.note(fmt.Sprint(u), fmt.Sprintf("early %d", i))
		}
	}
	n.trim()
	if got := len(n.census().counts); got != keptItems {
		t.Errorf("%d items are left, want %d", got, keptItems)
	}
	for i := range maxItems {
		for u := range 4 {
			n.note(fmt.Sprint(u), fmt.Sprintf("late %d", i))
		}
		n.trim()
	}
	for item, users := range n.census().counts {
		if users != 4 {
			t.Fatalf("%s with %v users has its place, want none but those with 4", item, users)
		}
	}
	if got := len(n.census().counts); got < keptItems {
		t.Errorf("%d items are left, want %d at least", got, keptItems)
	}
}

func TestItemsAreBounded(t *testing.T) {
	n := newItems()
	for i := range maxItems + 10 {
		n.note("a", fmt.Sprint(i))
	}
	n.note("b", "0")
	if got := len(n.census().counts); got != maxItems {
		t.Errorf("%d items, want at most %d", got, maxItems)
	}
	n.trim()
	if diff := cmp.Diff(map[string]float64{"0": 2}, n.census().counts); diff != "" {
		t.Errorf("after trim (-want +got):\n%s", diff)
	}
}

// An erased user who returns is in the samples of the items of the new life only, whether the purge
// comes before, after or between.
func TestItemsForgetThenReturn(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 7))
	for round := range 300 {
		n, want := newItems(), map[string]map[string]bool{}
		for range 60 {
			user, item := fmt.Sprint(rng.IntN(4)), fmt.Sprint("item ", rng.IntN(5))
			switch rng.IntN(6) {
			case 0:
				n.forget(user)
				delete(want, user)
			case 1:
				n.purge()
			default:
				n.note(user, item)
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
		if diff := cmp.Diff(counts, n.census().counts); diff != "" {
			t.Fatalf("round %d (-want +got):\n%s", round, diff)
		}
	}
}

// BenchmarkItemsForget is the time of one erasure while the room for new items is used up.
func BenchmarkItemsForget(b *testing.B) {
	n := newItems()
	for i := range maxItems {
		for u := range 64 {
			n.note(fmt.Sprint(i, u), fmt.Sprint(i))
		}
	}
	users := make([]string, 1<<16)
	for i := range users {
		users[i] = fmt.Sprint("user ", i)
	}
	for i := 0; b.Loop(); i++ {
		n.forget(users[i%len(users)])
	}
}
