package loadtest

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Pump says how [Client.Pump] streams events.
type Pump struct {
	Window int // messages in flight on each connection
	Batch  int // events in a message; 0: 1
	// Next returns the next encoded Event, nil after the last one. One goroutine for each
	// connection calls it.
	Next func(connection int) []byte
	// Acked, if not nil, is called for each acknowledged message, concurrently.
	Acked func(latency time.Duration, events int)
}

// Pump streams events on all connections at once, as fast as the server acknowledges them, until
// there are no more or ctx ends, and returns the number of acknowledged events. The end of ctx is
// no error; Pump then waits for the events in flight.
func (c *Client) Pump(ctx context.Context, p Pump) (acked int64, err error) {
	flights := make([]*flight, len(c.conns))
	var wg sync.WaitGroup
	for i, s := range c.streams {
		flights[i] = &flight{room: make(chan struct{}, p.Window)}
		wg.Go(func() {
			for ctx.Err() == nil && flights[i].failure() == nil {
				batch := p.batch(i)
				if len(batch) == 0 {
					break
				}
				flights[i].send(s, batch, p.Acked)
			}
			flights[i].land(s)
		})
	}
	wg.Wait()
	var errs []error
	for _, f := range flights {
		acked += f.acked
		errs = append(errs, f.err)
	}
	return acked, errors.Join(errs...)
}

// batch takes the events of the next message.
func (p *Pump) batch(connection int) [][]byte {
	batch := make([][]byte, 0, max(p.Batch, 1))
	for len(batch) < cap(batch) {
		event := p.Next(connection)
		if event == nil {
			break
		}
		batch = append(batch, event)
	}
	return batch
}

// flight bounds the messages in flight on one stream and counts what became of them.
type flight struct {
	room chan struct{} // one token per message in flight

	mu    sync.Mutex
	acked int64 // events
	err   error // the first
}

// send waits for room and sends a message.
func (f *flight) send(s *eventStream, batch [][]byte, acked func(time.Duration, int)) {
	f.room <- struct{}{}
	begin := time.Now()
	err := s.send(batch, func(err error) {
		if err == nil && acked != nil {
			acked(time.Since(begin), len(batch))
		}
		f.settle(len(batch), err)
	})
	if err != nil {
		f.settle(len(batch), err)
	}
}

func (f *flight) settle(events int, err error) {
	f.mu.Lock()
	if err == nil {
		f.acked += int64(events)
	} else if f.err == nil {
		f.err = err
	}
	f.mu.Unlock()
	<-f.room
}

func (f *flight) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// landing is the longest wait for the last acknowledgements.
const landing = 10 * time.Second

// land waits until nothing is in flight on s. It closes s after a failure, or when the wait takes
// too long.
func (f *flight) land(s *eventStream) {
	if f.failure() != nil {
		s.close()
	}
	defer time.AfterFunc(landing, s.close).Stop()
	for range cap(f.room) {
		f.room <- struct{}{}
	}
}
