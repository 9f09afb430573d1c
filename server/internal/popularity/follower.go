package popularity

import (
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/store"
)

// Observed wakes the counter if the model that serves is one of its own: with another one, every
// event would wake it for nothing.
func (c *Counter) Observed([]state.Written) {
	l := c.Models.Acquire()
	if l == nil {
		return
	}
	defer l.Release()
	if !l.Personal() {
		c.Wake()
	}
}

// Forgot wakes the counter.
func (c *Counter) Forgot(string) { c.Wake() }

// Rewrote wakes the counter.
func (c *Counter) Rewrote(string, bool, []store.Event) { c.Wake() }

// Reweighed wakes the counter.
func (c *Counter) Reweighed() { c.Wake() }
