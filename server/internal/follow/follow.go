// Package follow tells what is derived from histories that a history has changed.
//
// Whatever keeps something of a user beside the store and the cache of states is a [Follower], and
// stands in the one slice of the server: an erasure is complete only if all of them hear of it.
package follow

import (
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/store"
)

// A Follower derives something from the histories of users. Its methods are safe for concurrent
// use, never wait, and keep nothing of their arguments.
type Follower interface {
	// Observed takes note of events that have become durable and are in the cached states.
	Observed(events []state.Written)
	// Forgot takes note of a user who has been erased.
	Forgot(user string)
	// Rewrote takes note of a user whose history is another one now; had tells whether there was
	// one before.
	Rewrote(user string, had bool, history []store.Event)
	// Reweighed takes note of other weights of events.
	Reweighed()
}

// All is every follower of a server, as one.
type All []Follower

// Observed implements [Follower].
func (a All) Observed(events []state.Written) {
	for _, f := range a {
		f.Observed(events)
	}
}

// Forgot implements [Follower].
func (a All) Forgot(user string) {
	for _, f := range a {
		f.Forgot(user)
	}
}

// Rewrote implements [Follower].
func (a All) Rewrote(user string, had bool, history []store.Event) {
	for _, f := range a {
		f.Rewrote(user, had, history)
	}
}

// Reweighed implements [Follower].
func (a All) Reweighed() {
	for _, f := range a {
		f.Reweighed()
	}
}
