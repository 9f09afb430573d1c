package admission

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
)

// Large bodies make room, the oldest first and no more than are needed; small ones stay.
func TestBodiesMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, func(c *Config) { c.MaxBodies, c.MaxReceiving = 2<<20, 100 })
		var stalled []*Ticket
		for _, size := range []int{SmallBody, 1 << 19, 1 << 19, 1 << 19} {
			ticket := check.Get(g.Receive(t.Context(), "/r"))(t)
			must(t, ticket.Grow(size))
			stalled = append(stalled, ticket)
			time.Sleep(4 * slowAfter)
		}
		newcomer := check.Get(g.Receive(t.Context(), "/r"))(t)
		must(t, newcomer.Grow(1<<20))
		for i, want := range []bool{false, true, true, false} {
			check.Same(t, want, stalled[i].Evicted(), "body %d made room", i)
		}
	})
}

// Bodies that made room are held for a while on a busy machine: they take half as much as the
// others, and then newcomers wait.
func TestBodiesThatAreHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most, each = 4 << 20, 1 << 20
		g := newGate(t, func(c *Config) { c.MaxBodies, c.MaxReceiving = most, 100 })
		var held []*Ticket
		for range 20 {
			ticket := check.Get(g.Receive(t.Context(), "/r"))(t)
			if err := ticket.Grow(each); err != nil {
				ticket.Forget()
			} else {
				held = append(held, ticket)
			}
			time.Sleep(4 * slowAfter)
		}
		check.Same(t, most*3/2, len(held)*each, "bytes of bodies held")
		for _, ticket := range held {
			ticket.Forget()
			ticket.Forget()
		}
		check.Same(t, 0, g.bodies, "bytes left of bodies")
		check.Same(t, 0, g.leaving, "bytes of bodies that leave")
	})
}
