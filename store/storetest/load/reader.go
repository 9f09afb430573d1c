package load

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/gsimc/gsimc/store"
)

// keptStates is the number of states of a user that a reader keeps for the check.
const keptStates = 30

// state is what was derived from a history.
type state struct {
	version store.Version
	digest  digest
}

// reader keeps states of users up to date.
type reader struct {
	load  *Load
	store store.Store
	rng   *rand.Rand
	users []string
	// now has the newest state of each user, and kept some of all, at random.
	now   map[string]state
	kept  map[string][]state
	count map[string]int
	// anew counts the states that the store called those of another history.
	anew int
}

func newReader(l *Load, s store.Store, users []string, stream uint64) *reader {
	return &reader{load: l, store: s, users: users, now: map[string]state{},
		kept: map[string][]state{}, count: map[string]int{},
		rng: rand.New(rand.NewPCG(l.options.Seed+1, stream))}
}

func (r *reader) run() {
	for !r.load.stopped() {
		if !r.read(r.users[r.rng.IntN(len(r.users))]) {
			r.load.rest(10 * time.Millisecond)
		}
		r.load.rest(time.Millisecond)
	}
}

// read brings the state of a user up to date; false if the store does not answer.
func (r *reader) read(user string) bool {
	ctx, cancel := context.WithTimeout(r.load.ctx, r.load.options.Timeout)
	defer cancel()
	known := r.now[user]
	at := known
	head, same, err := r.store.Since(ctx, user, known.version,
		func(v store.Version, e store.Event) error {
			if v.Revision == 1 {
				at = state{}
			}
			at = state{v, at.digest.then(e)}
			r.load.shown.note(user, at.version, at.digest)
			return nil
		})
	if err != nil {
		return false
	}
	if !same {
		r.anew++
		if head.Revision == 0 {
			at = state{}
		}
	}
	r.now[user] = at
	r.keep(user, at)
	return true
}

// keep has each state of a user kept with the same probability.
func (r *reader) keep(user string, s state) {
	r.count[user]++
	if len(r.kept[user]) < keptStates {
		r.kept[user] = append(r.kept[user], s)
	} else if i := r.rng.IntN(r.count[user]); i < keptStates {
		r.kept[user][i] = s
	}
}
