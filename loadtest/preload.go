package loadtest

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// Loaded returns the items, by index, of the history that [Client.Preload] gives a user: n events, drawn for this user alone.
func (t *Traffic) Loaded(user, n int) []int32 {
	rng := rand.New(rand.NewPCG(t.Seed+uint64(user)<<32, historyStream))
	zipf := newZipf(rng, len(t.Items))
	items := make([]int32, n)
	for i := range items {
		items[i] = int32(zipf.Uint64())
	}
	return items
}

// Preload streams the histories of users first up to end, n events each, as they come in life: the first event of every
// user, then the second of every user, and so on, in messages of batch events. A history that is there already stays as it is.
func (c *Client) Preload(ctx context.Context, t *Traffic, first, end, n, batch int, progress func(done, total int)) error {
	histories := make([]int32, 0, (end-first)*n)
	for u := first; u < end; u++ {
		histories = append(histories, t.Loaded(u, n)...)
	}
	sent := make([]int, len(c.conns)) // by each connection, which has every so many-th event
	var acked atomic.Int64
	_, err := c.Pump(ctx, Pump{
		Window: max(StreamWindow/batch, 1), Batch: batch,
		Next: func(connection int) []byte {
			at := sent[connection]*len(c.conns) + connection
			if at >= len(histories) {
				return nil
			}
			sent[connection]++
			u, j := at%(end-first), at/(end-first)
			return encode(&pb.Event{
				EventId: "loaded-" + strconv.Itoa(j), UserId: UserID(first + u), ItemId: t.Items[histories[u*n+j]],
			})
		},
		Acked: func(_ time.Duration, events int) {
			if done := int(acked.Add(int64(events))); done/4096 != (done-events)/4096 {
				progress(done, len(histories))
			}
		},
	})
	if err == nil && acked.Load() < int64(len(histories)) {
		err = context.Cause(ctx)
	}
	return err
}
