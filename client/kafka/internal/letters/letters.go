// Package letters keeps the records that cannot become events or items, each with the reason, in a
// file or a topic. A record that is kept twice, after a kill, is there twice.
package letters

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Box keeps letters.
type Box struct {
	Topic  string      // where they are kept, if that is a topic
	Failed func(error) // is told why nothing could be kept; set before the first Put

	to     keeper
	in     chan letter
	ctx    context.Context // ends with Close
	stop   context.CancelFunc
	ended  chan struct{}
	broken atomic.Pointer[error]
}

// keeper makes letters durable.
type keeper interface {
	// keep returns the letters that it could not keep, and why. It calls done of the others.
	keep(context.Context, []letter) ([]letter, error)
	Close() error
}

// letter is a record with the reason.
type letter struct {
	kgo.Record
	reason string
	done   func()
}

const (
	// retryAfter is the wait after a failure.
	retryAfter = time.Second
	// mostAtOnce is the number of letters that are made durable together.
	mostAtOnce = 256
	// mostReason is the length of a reason. Some quote the record, which may be large.
	mostReason = 1 << 10
)

func newBox(to keeper) *Box {
	b := &Box{to: to, in: make(chan letter, mostAtOnce), ended: make(chan struct{})}
	b.ctx, b.stop = context.WithCancel(context.Background())
	go b.run()
	return b
}

// Put keeps a record with the reason, and calls done as soon as it is durable. It waits while too
// many are not, and tries again until Close.
func (b *Box) Put(r *kgo.Record, reason string, done func()) {
	reason = strings.ToValidUTF8(reason[:min(len(reason), mostReason)], "")
	select {
	case b.in <- letter{*r, reason, done}:
	case <-b.ctx.Done():
	}
}

// Err returns why nothing can be kept at present, or nil.
func (b *Box) Err() error {
	if err := b.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// Close ends the box. What was put and is not durable by then is never done.
func (b *Box) Close() error {
	b.stop()
	err := b.to.Close()
	<-b.ended
	return err
}

// run keeps what is there together.
func (b *Box) run() {
	defer close(b.ended)
	for {
		var batch []letter
		select {
		case l := <-b.in:
			batch = append(batch, l)
		case <-b.ctx.Done():
			return
		}
		for len(b.in) > 0 && len(batch) < mostAtOnce {
			batch = append(batch, <-b.in)
		}
		for len(batch) > 0 {
			var err error
			if batch, err = b.to.keep(b.ctx, batch); b.ctx.Err() != nil {
				return
			}
			if err == nil {
				b.broken.Store(nil)
				continue
			}
			b.broken.Store(&err)
			b.Failed(err)
			select {
			case <-time.After(retryAfter):
			case <-b.ctx.Done():
			}
		}
	}
}
