// Package load writes to a store from many goroutines while a test injects faults, keeps what was
// acknowledged and what was read, and checks afterwards that the store has kept its promises: every
// acknowledged event is there once, at its revision and with its version, in order; acknowledged
// erasures stay; and a state that was derived from a history is taken for good only if it is.
//
// # Users and writers
//
// Users belong to groups, such as the shards of a cluster. Each user has one writer, and a writer
// has users of one group, so that a group that does not answer holds up its own writers only. Some
// writers erase users from time to time. A record whose outcome is open is sent again by every
// second writer; the others leave it open.
//
// # Readers
//
// A reader keeps states of users as a server does: the version of a history and a hash of its
// events, brought up to date by Since. It goes on with a state that the store calls the same, so a
// store that calls another history the same is found out.
package load

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gsimc/gsimc/store"
)

// Options say how much is written. Zero values are the defaults.
type Options struct {
	// Groups are the groups of users; at least one.
	Groups []Group
	// Writers and Readers are the goroutines of each group; 4 and 1.
	Writers, Readers int
	// Batch is the largest number of records of a call; 20.
	Batch int
	// NameBytes is the length of item ids and event types; 20.
	NameBytes int
	// Timeout is that of the calls of the first writer of a group; 2 seconds. That of the next ones
	// is twice and four times as long, and so on in turn.
	Timeout time.Duration
	// KeepUsers leaves out the erasures.
	KeepUsers bool
	// Seed is that of the random numbers.
	Seed uint64
}

// A Group is one of Options.Groups.
type Group struct {
	// Users are its users, as many as it has writers at least.
	Users []string
	// Rest is the time between two calls of a writer; 0: none.
	Rest time.Duration
}

// Load is a running load. Use [Start].
type Load struct {
	options Options
	name    string // of items and types
	groups  []*group
	writers []*writer
	readers []*reader
	shown   *shown
	acked   atomic.Int64
	stop    chan struct{}
	ctx     context.Context // ends with the load
	cancel  context.CancelFunc
	writing sync.WaitGroup
	reading sync.WaitGroup
}

// group tells when its events were acknowledged.
type group struct {
	mu      sync.Mutex
	last    time.Time
	longest time.Duration // between two acknowledgements
	acked   int64
}

// Start begins to write to one store and to read from another one, which may be the same, or that
// of another process over the same data.
func Start(write, read store.Store, options Options) *Load {
	defaults(&options)
	l := &Load{options: options, shown: newShown(), stop: make(chan struct{}),
		name: strings.Repeat("n", options.NameBytes)}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	for g, of := range options.Groups {
		l.groups = append(l.groups, &group{last: time.Now()})
		for i := range options.Writers {
			w := newWriter(l, write, g, i)
			for u := i; u < len(of.Users); u += options.Writers {
				w.users = append(w.users, newUser(of.Users[u]))
			}
			l.writers = append(l.writers, w)
		}
		for i := range options.Readers {
			r := newReader(l, read, of.Users, uint64(g*options.Readers+i))
			l.readers = append(l.readers, r)
		}
	}
	for _, w := range l.writers {
		l.writing.Go(w.run)
	}
	for _, r := range l.readers {
		l.reading.Go(r.run)
	}
	return l
}

func defaults(o *Options) {
	o.Writers, o.Readers = cmp.Or(o.Writers, 4), cmp.Or(o.Readers, 1)
	o.Batch, o.NameBytes = cmp.Or(o.Batch, 20), cmp.Or(o.NameBytes, 20)
	o.Timeout = cmp.Or(o.Timeout, 2*time.Second)
}

// Acked returns the number of events that were acknowledged.
func (l *Load) Acked() int64 { return l.acked.Load() }

// AckedOf returns the number of events of a group that were acknowledged.
func (l *Load) AckedOf(g int) int64 {
	l.groups[g].mu.Lock()
	defer l.groups[g].mu.Unlock()
	return l.groups[g].acked
}

// Await waits until every group has at least n more acknowledged events.
func (l *Load) Await(n int64, patience time.Duration) error {
	from := make([]int64, len(l.groups))
	for g := range l.groups {
		from[g] = l.AckedOf(g)
	}
	end := time.Now().Add(patience)
	for g := range l.groups {
		for l.AckedOf(g) < from[g]+n {
			if time.Now().After(end) {
				return fmt.Errorf("group %d has %d more acknowledged events after %v, want %d",
					g, l.AckedOf(g)-from[g], patience, n)
			}
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}

// Gaps returns the longest time between two acknowledgements of each group since the last call of
// Gaps, or the beginning.
func (l *Load) Gaps() []time.Duration {
	gaps := make([]time.Duration, len(l.groups))
	for i, g := range l.groups {
		g.mu.Lock()
		gaps[i] = max(g.longest, time.Since(g.last))
		g.longest = 0
		g.mu.Unlock()
	}
	return gaps
}

// acknowledged counts n events of a group.
func (l *Load) acknowledged(g, n int) {
	l.acked.Add(int64(n))
	now, of := time.Now(), l.groups[g]
	of.mu.Lock()
	defer of.mu.Unlock()
	of.longest = max(of.longest, now.Sub(of.last))
	of.last, of.acked = now, of.acked+int64(n)
}

// Stop ends the load. Erasures whose outcome is open are repeated until they are acknowledged, for
// half a minute at most.
func (l *Load) Stop() {
	close(l.stop)
	l.writing.Wait()
	l.cancel()
	l.reading.Wait()
}

func (l *Load) stopped() bool {
	select {
	case <-l.stop:
		return true
	default:
		return false
	}
}

// rest waits for a time, or until the load is stopped.
func (l *Load) rest(d time.Duration) {
	select {
	case <-l.stop:
	case <-time.After(d):
	}
}

// A digest stands for the events of a history, in order.
type digest uint64

var seed = maphash.MakeSeed()

// then returns the digest of a history with one more event.
func (d digest) then(e store.Event) digest {
	type parts struct {
		before digest
		e      store.Event
	}
	e.Time = e.Time.UTC()
	return digest(maphash.Comparable(seed, parts{d, e}))
}

// shown tells which history each version stands for.
type shown struct {
	mu        sync.Mutex
	digests   map[string]map[store.Version]digest
	ambiguous int // versions that stood for two histories
}

func newShown() *shown { return &shown{digests: map[string]map[store.Version]digest{}} }

// note keeps that a version of a user stands for a history.
func (s *shown) note(user string, v store.Version, d digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.digests[user]
	if of == nil {
		of = map[store.Version]digest{}
		s.digests[user] = of
	}
	if old, ok := of[v]; ok && old != d {
		s.ambiguous++
		return
	}
	of[v] = d
}
