// Package follow tells what is derived from histories that a history has changed.
//
// Whatever keeps something of a user beside the store and the cache of states is a [Follower], and
// stands in the one slice of the server: an erasure is complete only if all of them hear of it.
package follow

import (
	"context"

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

// Rewrite replaces the histories of users by what fn makes of them, as [store.Store.Rewrite], and
// lets f know.
func Rewrite(
	ctx context.Context, states *state.Cache, f Follower, users []string,
	fn func([][]store.Event) [][]store.Event,
) ([]store.Version, error) {
	var had []bool
	var made [][]store.Event
	versions, err := states.Rewrite(ctx, users, func(h [][]store.Event) [][]store.Event {
		had = had[:0]
		for i := range h {
			had = append(had, len(h[i]) > 0)
		}
		made = fn(h)
		return made
	})
	if err != nil {
		return nil, err
	}
	for i, user := range users {
		if made[i] != nil {
			f.Rewrote(user, had[i], made[i])
		}
	}
	return versions, nil
}
