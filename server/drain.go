package server

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errDraining is the error of calls that the drain ends or refuses.
var errDraining = errors.New("server: draining")

// drain holds the signals of the three steps of a shutdown; each is a context that ends when the
// step begins.
type drain struct {
	begun   context.Context // no longer ready, still serving
	streams context.Context // streams are told to come to an end
	cut     context.Context // streams that are still open end now

	begin, tellStreams, cutStreams context.CancelFunc
}

// cutGrace is the time that streams have to end after they were cut, before their connections are
// closed.
const cutGrace = time.Second

func newDrain() drain {
	var d drain
	d.begun, d.begin = context.WithCancel(context.Background())
	d.streams, d.tellStreams = context.WithCancel(context.Background())
	d.cut, d.cutStreams = context.WithCancel(context.Background())
	return d
}

func (s *Server) isDraining() bool { return s.drain.begun.Err() != nil }

// shutDown runs the drain and returns when no handler runs any more.
func (s *Server) shutDown() {
	s.log.Info("draining", millis("delay_ms", s.cfg.DrainDelay),
		millis("timeout_ms", s.cfg.DrainTimeout))
	s.drain.begin()
	s.health.Shutdown()
	time.Sleep(s.cfg.DrainDelay)
	s.drain.tellStreams()

	done := make(chan struct{})
	go func() {
		var both sync.WaitGroup // they have no time limit of their own
		both.Go(s.grpc.GracefulStop)
		both.Go(s.adminGRPC.GracefulStop)
		both.Wait()
		close(done)
	}()
	if finishedWithin(done, s.cfg.DrainTimeout) {
		s.log.Info("drained")
		return
	}
	s.drain.cutStreams()
	if !finishedWithin(done, cutGrace) {
		s.log.Warn("drain timeout: ending the calls in flight")
		s.stopGRPC()
		<-done
	}
}

// stopGRPC ends the calls in flight.
func (s *Server) stopGRPC() {
	s.grpc.Stop()
	s.adminGRPC.Stop()
}

func finishedWithin(done <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}
