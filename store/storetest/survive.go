package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gsimc/gsimc/store"
)

// surviveUsers are the users of Survive, each with a writer and two readers.
const surviveUsers = 4

// Survive checks that readers see only what is durable: after a loss of power a history is at least
// where any reader has seen it. start returns a new store, and a function that cuts the power of
// its disk at the moment of the call and returns the store that is found afterwards. The first
// store goes on working; Survive closes neither. The calls depend on the seed alone, their times do
// not.
func Survive(t testing.TB, seed uint64, start func() (s store.Store, cut func() store.Store)) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	r := &survival{TB: t, seed: seed, stop: make(chan struct{}), cutAt: 20 + rng.IntN(200)}
	s, cut := start()
	r.s = s
	var wg sync.WaitGroup
	for i := range r.lives {
		l := &r.lives[i]
		l.user, l.states = fmt.Sprint("user-", i), [][]string{nil}
		wg.Go(func() { r.write(l, rand.New(rand.NewPCG(seed, uint64(10+i)))) })
		wg.Go(func() { r.look(l, r.history) })
		wg.Go(func() { r.look(l, r.revision) })
	}
	<-r.stop
	r.mu.Lock() // whatever readers have noted, they have seen before the cut
	seen := r.lives
	for i := range seen {
		seen[i].states = slices.Clone(seen[i].states)
	}
	after := cut()
	for i := range seen { // writes that began before the end of the cut may be there
		seen[i].states = slices.Clone(r.lives[i].states)
	}
	r.mu.Unlock()
	wg.Wait()
	for i := range seen {
		r.compare(&seen[i], after)
	}
}

// survival is a run of Survive.
type survival struct {
	testing.TB
	seed  uint64
	s     store.Store
	stop  chan struct{}
	once  sync.Once
	cutAt int // number of writes

	mu     sync.Mutex
	writes int
	lives  [surviveUsers]life
}

// life is what happens to one user.
type life struct {
	user      string
	states    [][]string // ids of the events after each write that has begun
	completed int        // index of the last state whose write has returned
	seen      int        // index of the last state that a reader has seen for certain
}

func (r *survival) running() bool {
	select {
	case <-r.stop:
		return false
	default:
		return !r.Failed()
	}
}

// write appends to the user's history, takes events out of it and erases it, until the cut.
func (r *survival) write(l *life, rng *rand.Rand) {
	defer r.once.Do(func() { close(r.stop) })
	for next := 0; r.running(); {
		var records []store.Record
		erase, out := rng.IntN(8) == 0, ""
		r.mu.Lock()
		ids := slices.Clone(l.states[len(l.states)-1])
		switch {
		case erase:
			ids = nil
		case len(ids) > 0 && rng.IntN(6) == 0:
			at := rng.IntN(len(ids))
			out = ids[at]
			ids = slices.Delete(ids, at, at+1)
		default:
			for range 1 + rng.IntN(3) {
				records = append(records, store.Record{User: l.user, Event: event(next)})
				ids = append(ids, event(next).ID)
				next++
			}
		}
		l.states = append(l.states, ids)
		r.mu.Unlock()
		var err error
		switch {
		case erase:
			_, err = r.s.Erase(context.Background(), l.user)
		case out != "":
			err = r.takeOut(l.user, out)
		default:
			_, err = r.s.Append(context.Background(), records)
		}
		if err != nil {
			r.Errorf("seed %d: a write: %v", r.seed, err)
		}
		r.mu.Lock()
		l.completed = len(l.states) - 1
		r.writes++
		if r.writes == r.cutAt {
			r.once.Do(func() { close(r.stop) })
		}
		r.mu.Unlock()
	}
}

// takeOut takes an event out of a history.
func (r *survival) takeOut(user, id string) error {
	_, err := r.s.Rewrite(context.Background(), []string{user},
		func(h [][]store.Event) [][]store.Event {
			return [][]store.Event{slices.DeleteFunc(slices.Clone(h[0]),
				func(e store.Event) bool { return e.ID == id })}
		})
	return err
}

// look reads the user's history until the cut, by a function that tells whether a state may be what
// it has found.
func (r *survival) look(l *life, read func(user string) (is func(ids []string) bool, err error)) {
	for r.running() {
		r.mu.Lock()
		completed := l.completed
		r.mu.Unlock()
		is, err := read(l.user)
		if err != nil {
			r.Errorf("seed %d: a read: %v", r.seed, err)
			return
		}
		r.mu.Lock()
		at := slices.IndexFunc(l.states[completed:], is)
		l.seen = max(l.seen, completed+at)
		r.mu.Unlock()
		time.Sleep(20 * time.Microsecond) // the writers need the processors too
		if at < 0 {
			r.Errorf("seed %d: a reader of a user does not see one of the histories that its "+
				"writer has acknowledged or begun", r.seed)
		}
	}
}

func (r *survival) history(user string) (func([]string) bool, error) {
	var got []string
	err := Read(context.Background(), r.s, user, 0, func(_ uint64, e store.Event) error {
		got = append(got, e.ID)
		return nil
	})
	return func(ids []string) bool { return slices.Equal(got, ids) }, err
}

func (r *survival) revision(user string) (func([]string) bool, error) {
	got, err := Revision(context.Background(), r.s, user)
	return func(ids []string) bool { return got == uint64(len(ids)) }, err
}

// compare checks what is found after the cut.
func (r *survival) compare(l *life, after store.Store) {
	r.Helper()
	found := survival{s: after}
	is, err := found.history(l.user)
	if err != nil {
		r.Errorf("seed %d: reading after the cut: %v", r.seed, err)
		return
	}
	least := max(l.completed, l.seen)
	if at := slices.IndexFunc(l.states[least:], is); at < 0 {
		r.Errorf("seed %d: after a loss of power a history is not where a reader has seen it or "+
			"its writer has been told: of %d states from the %d. on it is none (among the "+
			"earlier ones: %d)", r.seed, len(l.states)-least, least,
			slices.IndexFunc(l.states, is))
	}
}
