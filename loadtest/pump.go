package loadtest

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Pump says how [Client.Pump] streams events.
type Pump struct {
	Window int                         // events in flight on each connection
	Next   func(connection int) []byte // the next encoded Event; nil: no more. Called by one goroutine for each connection
	Acked  func(latency time.Duration) // told of each acknowledged event, concurrently; may be nil
}

// Pump streams events on all connections at once, as fast as the server acknowledges them, until there are no more or ctx
// ends, and returns how many were acknowledged. The end of ctx is no error; events in flight are waited
// for.
func (c *Client) Pump(ctx context.Context, p Pump) (acked int64, err error) {
	flights := make([]*flight, len(c.conns))
	var wg sync.WaitGroup
	for i, s := range c.streams {
		flights[i] = &flight{room: make(chan struct{}, p.Window)}
		wg.Go(func() {
			for ctx.Err() == nil && flights[i].failure() == nil {
				event := p.Next(i)
				if event == nil {
					break
				}
				flights[i].send(s, event, p.Acked)
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

// flight bounds the events in flight on one stream and counts what became of them.
type flight struct {
	room chan struct{} // one token per event in flight

	mu    sync.Mutex
	acked int64
	err   error // the first
}

// send waits for room and sends an event.
func (f *flight) send(s *eventStream, event []byte, acked func(time.Duration)) {
	f.room <- struct{}{}
	begin := time.Now()
	err := s.send(event, func(err error) {
		if err == nil && acked != nil {
			acked(time.Since(begin))
		}
		f.settle(err)
	})
	if err != nil {
		f.settle(err)
	}
}

func (f *flight) settle(err error) {
	f.mu.Lock()
	if err == nil {
		f.acked++
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

// landing is how long the last acknowledgements may take.
const landing = 10 * time.Second

// land waits until nothing is in flight on s, which is closed if there was a failure or it takes too long.
func (f *flight) land(s *eventStream) {
	if f.failure() != nil {
		s.close()
	}
	defer time.AfterFunc(landing, s.close).Stop()
	for range cap(f.room) {
		f.room <- struct{}{}
	}
}
