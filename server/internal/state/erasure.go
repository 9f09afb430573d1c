package state

import (
	"context"
	"hash/maphash"
	"sync/atomic"
)

// stripe guards the entries of many users against erasures. Its upper bits are the epoch, the
// number of erasures that have begun. Its lower bits count the erasures under way. So one load
// tells both.
type stripe struct{ erasures atomic.Uint64 }

const oneErasure = 1 << 16 // of the epoch

// A Ticket is taken before the store is asked and tells afterwards whether an erasure interfered.
type Ticket struct {
	stripe   *stripe
	erasures uint64
}

// Ticket returns a ticket for the user.
func (c *Cache) Ticket(user string) Ticket {
	p := c.stripe(user)
	return Ticket{stripe: p, erasures: p.erasures.Load()}
}

func (c *Cache) stripe(user string) *stripe {
	return &c.stripes[maphash.String(c.seed, user)%uint64(len(c.stripes))]
}

// ok reports whether no erasure was under way when t was issued.
func (t Ticket) ok() bool { return t.erasures%oneErasure == 0 }

// valid reports whether t is ok and no erasure has begun since.
func (t Ticket) valid() bool { return t.ok() && t.stripe.erasures.Load() == t.erasures }

// Erase removes the user's history from the store, and its state from the cache. It returns the
// number of events there were. An erasure that has begun runs to its end even if the caller no
// longer waits. If it took place after the stripe counted its end, a state of the former life could
// stay in the cache.
func (c *Cache) Erase(ctx context.Context, user string) (uint64, error) {
	p := c.stripe(user)
	p.erasures.Add(oneErasure + 1)
	defer func() {
		c.cache.Invalidate(user)
		p.erasures.Add(^uint64(0)) // one less under way
	}()
	return c.store.Erase(context.WithoutCancel(ctx), user)
}
