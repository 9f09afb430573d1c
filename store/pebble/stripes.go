package pebble

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"

	"github.com/gsimc/gsimc/store"
)

// stripeCount bounds how many users can be written to at the same moment. Two users that share a stripe only wait for each
// other's short critical section, not for the disk.
const stripeCount = 1024

// stripes are locks for users. A lock is a channel that holds a token while it is taken, so that waiting for it can be
// given up.
type stripes struct {
	seed  maphash.Seed
	locks [stripeCount]chan struct{}
}

func newStripes() *stripes {
	st := &stripes{seed: maphash.MakeSeed()}
	for i := range st.locks {
		st.locks[i] = make(chan struct{}, 1)
	}
	return st
}

func (st *stripes) index(user string) int {
	return int(maphash.String(st.seed, user) % stripeCount)
}

// indices returns the stripes of the users of the records, ascending and each once.
func (st *stripes) indices(records []store.Record) []int {
	indices := make([]int, len(records))
	for i, r := range records {
		indices[i] = st.index(r.User)
	}
	slices.Sort(indices)
	return slices.Compact(indices)
}

// errStopped is the error of a lock that was given up because of the stop channel.
var errStopped = errors.New("stopped waiting for a lock")

// lock takes the stripes with the given indices, which must ascend so that no two calls wait for each other, and returns
// how to release them. It gives up when the context ends or stop is closed.
func (st *stripes) lock(ctx context.Context, stop <-chan struct{}, ascending []int) (unlock func(), err error) {
	for i, index := range ascending {
		select {
		case st.locks[index] <- struct{}{}:
			continue
		case <-ctx.Done():
			err = ctx.Err()
		case <-stop:
			err = errStopped
		}
		st.unlock(ascending[:i])
		return nil, err
	}
	return func() { st.unlock(ascending) }, nil
}

func (st *stripes) unlock(indices []int) {
	for _, index := range indices {
		<-st.locks[index]
	}
}
