package follow

import (
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/coldstart"
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/store"
)

// Extenders are those of the arms of a server: they follow the histories together, each by the
// model that it extends. A nil one does nothing.
type Extenders []*coldstart.Extender

// Observed takes note of events that have become durable.
func (all Extenders) Observed(events []state.Written) {
	all.each(func(x *coldstart.Extender, m *model.Model) {
		for i := range events {
			w := &events[i]
			if m != w.Model {
				other := *w
				other.Item, other.Known = m.ItemIndex(w.Record.Event.Item)
				w = &other
			}
			x.Observed(m, w)
		}
		x.Wrote(events)
	})
}

// Forgot lets go of an erased user.
func (all Extenders) Forgot(user string) {
	for _, x := range all {
		x.Forget(user)
	}
}

// Rewrote takes note of a user whose history is another one now; had tells whether there was one
// before.
func (all Extenders) Rewrote(user string, had bool, history []store.Event) {
	all.each(func(x *coldstart.Extender, m *model.Model) { x.Rewrote(m, user, had, history) })
}

// Reweighed takes note of other weights of events.
func (all Extenders) Reweighed() {
	for _, x := range all {
		x.Reweighed()
	}
}

// each calls fn with every extender and the model that serves in its arm.
func (all Extenders) each(fn func(*coldstart.Extender, *model.Model)) {
	for _, x := range all {
		if x == nil {
			continue
		}
		if l := x.Models.Acquire(); l != nil {
			fn(x, l.Model)
			l.Release()
		}
	}
}
