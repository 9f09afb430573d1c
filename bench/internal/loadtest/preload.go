package loadtest

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// Loaded returns the items, by index, of the history that [Client.Preload] gives a user: n events,
// drawn for this user alone.
func (t *Traffic) Loaded(user, n int) []int32 {
	rng := rand.New(rand.NewPCG(t.Seed+uint64(user)<<32, historyStream))
	zipf := newZipf(rng, len(t.Items))
	items := make([]int32, n)
	for i := range items {
		items[i] = int32(zipf.Uint64())
	}
	return items
}

// Messages of Preload: the largest batch that a server takes, and enough messages in flight to keep
// it busy.
const (
	preloadBatch  = 1000
	preloadWindow = 16 // on each connection
)

// Preload streams the histories of users first up to end, n events each, one user after the other.
// A server sorts its events by user, and in this order the sorting costs least. An existing history
// stays as it is.
func (c *Client) Preload(
	ctx context.Context, t *Traffic, first, end, n int, progress func(done, total int),
) error {
	total := (end - first) * n
	// one for each connection; the users are dealt to the connections in turn
	begun := make([]preloading, len(c.conns))
	for i := range begun {
		begun[i].user = first + i - len(c.conns)
	}
	var acked atomic.Int64
	_, err := c.Pump(ctx, Pump{
		Window: preloadWindow, Batch: preloadBatch,
		Next: func(connection int) []byte {
			p := &begun[connection]
			if p.sent == len(p.items) {
				p.user, p.sent = p.user+len(c.conns), 0
				if p.user >= end {
					p.items = nil
					return nil
				}
				p.items = t.Loaded(p.user, n)
			}
			p.sent++
			return encode(&pb.Event{
				EventId: "loaded-" + strconv.Itoa(p.sent-1), UserId: UserID(p.user),
				ItemId: t.Items[p.items[p.sent-1]],
			})
		},
		Acked: func(_ time.Duration, events int) {
			if done := int(acked.Add(int64(events))); done/4096 != (done-events)/4096 {
				progress(done, total)
			}
		},
	})
	if err == nil && acked.Load() < int64(total) {
		err = context.Cause(ctx)
	}
	return err
}

// preloading is the user whose history a connection sends.
type preloading struct {
	user  int
	items []int32
	sent  int // of items
}
