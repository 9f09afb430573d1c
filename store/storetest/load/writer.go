package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gsimc/gsimc/store"
)

// user is what a writer knows of one user.
type user struct {
	id     string
	life   int // raised by each erasure
	next   int // number of the next event
	events map[string]*sent
	unsure bool // an erasure has no outcome
}

func newUser(id string) *user { return &user{id: id, events: map[string]*sent{}} }

// sent is an event that was sent.
type sent struct {
	event store.Event
	life  int
	// call is the number of the writer's call that sent it first, and place its index there.
	call, place int
	// acked is the number of the call by which it was acknowledged; 0: it was not.
	acked  int
	result store.Result
}

// pending is a record whose outcome is open.
type pending struct {
	u *user
	s *sent
}

// writer appends to the histories of its users, one call after the other.
type writer struct {
	load    *Load
	store   store.Store
	group   int
	repeats bool
	erases  bool
	timeout time.Duration
	pause   time.Duration
	rng     *rand.Rand
	users   []*user
	call    int
	open    []pending
	odd     int // records with an error that no fault explains
}

func newWriter(l *Load, s store.Store, g, i int) *writer {
	return &writer{load: l, store: s, group: g, repeats: i%2 == 0,
		erases: !l.options.KeepUsers && i%4 < 2, pause: l.options.Groups[g].Rest,
		timeout: l.options.Timeout << (i % 3),
		rng:     rand.New(rand.NewPCG(l.options.Seed, uint64(g*l.options.Writers+i)))}
}

func (w *writer) run() {
	for !w.load.stopped() {
		if w.erases && w.rng.IntN(50) == 0 {
			w.erase(w.users[w.rng.IntN(len(w.users))])
			continue
		}
		w.append()
		if w.pause > 0 {
			w.load.rest(w.pause)
		}
	}
}

// append sends records of some users in one call: those that are to be repeated, and new ones.
func (w *writer) append() {
	w.call++
	batch := w.open
	w.open = nil
	n := 1
	if w.rng.IntN(2) == 0 {
		n += w.rng.IntN(w.load.options.Batch)
	}
	for len(batch) < n {
		u := w.users[w.rng.IntN(len(w.users))]
		batch = append(batch, pending{u, u.send(w, len(batch))})
	}
	records := make([]store.Record, len(batch))
	for i, p := range batch {
		records[i] = store.Record{User: p.u.id, Event: p.s.event}
	}
	ctx, cancel := context.WithTimeout(w.load.ctx, w.timeout)
	results, err := w.store.Append(ctx, records)
	cancel()
	acked := 0
	for i, p := range batch {
		fault := err
		if err == nil {
			fault = results[i].Err
		}
		switch {
		case fault != nil:
			if isOdd(fault) {
				w.odd++
			}
			if w.repeats {
				w.open = append(w.open, p)
			}
		default:
			p.s.acked, p.s.result = w.call, results[i]
			acked++
		}
	}
	if acked > 0 {
		w.load.acknowledged(w.group, acked)
	} else {
		w.load.rest(10 * time.Millisecond)
	}
}

// isOdd reports whether an error is one that no fault of a store explains.
func isOdd(err error) bool {
	return errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrCorrupt) ||
		errors.Is(err, store.ErrInvalid)
}

// send makes a new event.
func (u *user) send(w *writer, place int) *sent {
	u.next++
	s := &sent{life: u.life, call: w.call, place: place, event: store.Event{
		ID: fmt.Sprintf("%d-%d", u.life, u.next), Item: w.load.name, Type: w.load.name,
		Time: time.Unix(int64(u.next), 0).UTC(), Value: float64(u.next)}}
	u.events[s.event.ID] = s
	return s
}

// erasePatience is how long an erasure is repeated after the end of the load.
const erasePatience = 30 * time.Second

// erase erases a user, and repeats that until it is acknowledged.
func (w *writer) erase(u *user) {
	kept := w.open[:0]
	for _, p := range w.open { // they must not come back
		if p.u != u {
			kept = append(kept, p)
		}
	}
	w.open = kept
	u.life++
	var end time.Time
	for {
		ctx, cancel := context.WithTimeout(w.load.ctx, w.timeout)
		_, err := w.store.Erase(ctx, u.id)
		cancel()
		if err == nil {
			return
		}
		if w.load.stopped() {
			if end.IsZero() {
				end = time.Now().Add(erasePatience)
			}
			if time.Now().After(end) {
				u.unsure = true
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}
