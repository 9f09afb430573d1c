// Package synthetic makes up interactions that look like real ones, for
// demonstrations, load tests and measurements at any size.
//
// # The catalogue
//
// Item popularity follows a power law. Items belong to one to three of about
// √items overlapping communities, and every item has a few likely successors
// in its main community.
//
// # The users
//
// Activity is lognormal. A user's taste is a mixture of a few communities that
// drifts, over the user's lifetime, into another mixture. Each event is, by
// chance, a successor of the item before, an item of a community of the user's
// taste, or just a popular item. So a method that knows the communities does
// better than popularity, and one that knows the order too does better still.
// No user gets an item twice.
//
// # Determinism and cost
//
// Every user has a random generator of their own, so the output depends on the
// Config alone, not on the number of processors. Memory is proportional to the
// items, plus a few blocks of users on their way; it does not grow with users
// or events. Random choices rest on integers, so that rounding cannot tell
// platforms apart.
package synthetic

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"runtime"
	"sync"

	"github.com/gsimc/gsimc/internal/fault"
)

// MaxUsers, MaxItems and MaxEvents are the largest sizes that Generate accepts.
const (
	MaxUsers  = 1<<31 - 1
	MaxItems  = 1 << 22
	MaxEvents = 1 << 40
)

// Config is the size and the seed of a data set.
type Config struct {
	Users  int    // 1 to MaxUsers
	Items  int    // 2 to MaxItems
	Events int64  // in total, Users to Users·Items and at most MaxEvents
	Seed   uint64 // another seed gives another catalogue and other users
}

// Validate returns a fault for every field that is out of range.
func (c Config) Validate() error {
	var faults []error
	if c.Users < 1 || c.Users > MaxUsers {
		faults = append(faults, fault.New("Users", c.Users, fmt.Sprintf("1 to %d", MaxUsers)))
	}
	if c.Items < 2 || c.Items > MaxItems {
		faults = append(faults, fault.New("Items", c.Items, fmt.Sprintf("2 to %d", MaxItems)))
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	// 2^31·2^22 fits an int64.
	most := min(MaxEvents, int64(c.Users)*int64(c.Items))
	if c.Events < int64(c.Users) || c.Events > most {
		return fault.New("Events", c.Events, fmt.Sprintf(
			"%d (one for each user) to %d (every item for every user, at most 2^40)", c.Users,
			most))
	}
	return nil
}

// Generate writes cfg.Events interactions to w as CSV with the header
// user_id,item_id,timestamp, user by user, in the order of time for each.
// User ids are "u" and item ids "i", followed by a number of fixed width.
// progress, if not nil, is called now and then with the events written so far,
// by the goroutine that called Generate.
func Generate(w io.Writer, cfg Config, progress func(events int64)) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	if _, err := io.WriteString(w, "user_id,item_id,timestamp\n"); err != nil {
		return err
	}
	blocks, stop := makeBlocks(cfg, runtime.GOMAXPROCS(0))
	defer stop()
	written := int64(0)
	for b := range blocks {
		<-b.filled
		if _, err := w.Write(b.text); err != nil {
			return err
		}
		written += b.events
		if progress != nil {
			progress(written)
		}
		b.free <- b
	}
	if written != cfg.Events {
		return fmt.Errorf("synthetic: made %d events instead of %d; please report this with the "+
			"seed",
			written, cfg.Events)
	}
	return nil
}

// blockEvents is the number of events from which on a block takes no more
// users: large enough that handing it over costs nothing, small enough that
// the blocks under way fit a cache.
const blockEvents = 1 << 14

// block is a run of users: the unit of work.
type block struct {
	first  int     // first user
	counts []int32 // events of each user
	events int64   // sum of counts
	text   []byte  // the rows, valid once filled has a value
	filled chan struct{}
	free   chan<- *block
}

// makeBlocks fills blocks with the given number of workers and returns them in the order of the
// users. stop ends the work and waits for its end; it must be called.
func makeBlocks(cfg Config, workers int) (blocks <-chan *block, stop func()) {
	inFlight := 2*workers + 1
	ordered, tasks := make(chan *block, inFlight), make(chan *block, inFlight)
	free, done := make(chan *block, inFlight), make(chan struct{})
	for range inFlight {
		free <- &block{filled: make(chan struct{}, 1), free: free}
	}
	cat := newCatalogue(cfg)
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			w := newWalker(cfg, cat)
			for b := range tasks {
				w.fill(b)
				b.filled <- struct{}{}
			}
		})
	}
	running.Go(func() {
		defer close(ordered)
		defer close(tasks)
		act := newActivity(cfg)
		for user := 0; user < cfg.Users; {
			select {
			case <-done:
				return
			case b := <-free:
				user = b.reserve(act, user, cfg.Users)
				ordered <- b // never blocks: there are only inFlight blocks
				tasks <- b
			}
		}
	})
	return ordered, func() { close(done); running.Wait() }
}

// reserve takes users, from first on, into b until it is full, and returns the
// user after them.
func (b *block) reserve(act *activity, first, users int) (next int) {
	b.first, b.counts, b.events, b.text = first, b.counts[:0], 0, b.text[:0]
	for next = first; next < users && b.events < blockEvents; next++ {
		n := act.next()
		b.counts = append(b.counts, int32(n))
		b.events += n
	}
	return next
}

// mix turns a counter into a well-spread seed (the finaliser of SplitMix64:
// Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// below turns 64 random bits into a number from 0 to n-1.
func below(r uint64, n int) int {
	hi, _ := bits.Mul64(r, uint64(n))
	return int(hi)
}
