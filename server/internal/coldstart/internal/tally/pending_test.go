package tally

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// Who waits are those of a set, whatever comes in between.
func TestPendingIsASet(t *testing.T) {
	const users = 3000
	told := make([]atomic.Uint64, users)
	rng := rand.New(rand.NewPCG(7, 7))
	p, want := NewPending(), map[string]struct{}{}
	for step := range 200_000 {
		number := rng.IntN(users)
		user := fmt.Sprint("user-", number)
		switch n := rng.IntN(5000); {
		case n > 20:
			p.AddTold(user, &told[number])
			want[user] = struct{}{}
		case n > 3:
			p.Remove(user)
			delete(want, user)
		case n > 1:
			got, _ := p.Take(1000)
			for user := range got {
				if _, waits := want[user]; !waits {
					t.Fatalf("step %d: %s is taken, who does not wait", step, user)
				}
				delete(want, user)
			}
		default:
			got, _ := p.TakeAll()
			if !maps.Equal(want, got) {
				t.Fatalf("step %d: %d users are taken, want %d", step, len(got), len(want))
			}
			clear(want)
		}
		if p.Len() != len(want) {
			t.Fatalf("step %d: %d users wait, want %d", step, p.Len(), len(want))
		}
	}
}

// Whoever is told of while others are taken waits, or was taken; and waits again when told of later.
func TestPendingLosesNobody(t *testing.T) {
	const rounds, user = 20_000, "user"
	p, told := NewPending(), new(atomic.Uint64)
	for range rounds {
		var both sync.WaitGroup
		var taken map[string]struct{}
		both.Go(func() { p.AddTold(user, told) })
		both.Go(func() { taken, _ = p.Take(1) })
		both.Wait()
		if p.Len()+len(taken) != 1 {
			t.Fatalf("%d wait and %d were taken, of one", p.Len(), len(taken))
		}
		p.AddTold(user, told)
		if taken, _ = p.Take(1); len(taken) != 1 {
			t.Fatal("nobody waits after having been told of")
		}
	}
}

// A sample that is halved, and whose users have all been told of, begins anew with all of them.
func TestPendingBeginsAnew(t *testing.T) {
	p := NewPending()
	all := make([]string, 100)
	for i := range all {
		all[i] = fmt.Sprint("user-", i)
	}
	told := make([]atomic.Uint64, len(all))
	add := func() {
		for i, user := range all {
			p.AddTold(user, &told[i])
		}
	}
	p.Halve(1)
	add()
	if got := p.Len(); got < 20 || got > 80 {
		t.Errorf("%d of 100 users are half of them", got)
	}
	_, halved := p.TakeAll()
	check.Same(t, 1, halved, "how often the sample was halved")
	add()
	got, _ := p.TakeAll()
	slices.Sort(all)
	check.Same(t, all, slices.Sorted(maps.Keys(got)), "users after a new beginning")
}

// A word that one Pending has been told by says nothing to another one.
func TestPendingsShareWords(t *testing.T) {
	told, one, other := new(atomic.Uint64), NewPending(), NewPending()
	for range 3 {
		one.AddTold("user", told)
		other.AddTold("user", told)
		check.Same(t, 1, one.Len(), "users of the one")
		check.Same(t, 1, other.Len(), "users of the other")
		_, _ = one.Take(1)
	}
}
