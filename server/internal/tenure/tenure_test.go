package tenure_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/tenure"
	"github.com/gsimc/gsimc/store/memory"
)

// Of two keepers one holds the lease, without a gap, until it ends or asks for another one; then the
// other holds it, with a higher term.
func TestOneHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New()
		a := tenure.New(st, "a", slog.New(slog.DiscardHandler))
		b := tenure.New(st, "b", slog.New(slog.DiscardHandler))
		ctx, end := context.WithCancel(t.Context())
		go a.Run(ctx)
		go b.Run(t.Context())
		a.Want("x")
		synctest.Wait()
		b.Want("x")
		first := wantHolder(t, "x", a, b)
		for range 30 {
			time.Sleep(time.Second)
			check.MustSame(t, first, wantHolder(t, "x", a, b), "the term of the holder")
		}
		a.Want("y")
		time.Sleep(2 * time.Second)
		second := wantHolder(t, "x", b, a)
		wantHolder(t, "y", a, b)
		if second <= first {
			t.Errorf("the term of another holder is %d, after %d", second, first)
		}
		b.Want("y")
		end()
		time.Sleep(2 * time.Second)
		wantHolder(t, "y", b, a)
		b.Lost(0) // another term
		wantHolder(t, "y", b, a)
		term, _ := b.Held("y")
		if b.Lost(term); holds(b, "y") {
			t.Error("a lease that was lost is held")
		}
	})
}

// wantHolder checks that one keeper has a lease and another one does not, and returns the term.
func wantHolder(t *testing.T, name string, who, other *tenure.Keeper) uint64 {
	t.Helper()
	synctest.Wait()
	if !holds(who, name) || holds(other, name) {
		t.Fatalf("%s holds %s: %v, and %s: %v", who.Holder(), name, holds(who, name),
			other.Holder(), holds(other, name))
	}
	term, _ := who.Held(name)
	return term
}

func holds(k *tenure.Keeper, name string) bool {
	_, held := k.Held(name)
	return held
}
