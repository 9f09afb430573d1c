package server

import (
	"context"
	"sync"
	"time"

	"github.com/gsimc/gsimc/server/internal/background"
	"github.com/gsimc/gsimc/server/internal/stage"
)

// drain holds the signals of the three steps of a shutdown; each is a context that ends when the
// step begins.
type drain struct {
	begun   context.Context // no longer ready, still serving
	streams context.Context // streams are told to come to an end
	cut     context.Context // streams that are still open end now

	begin, tellStreams, cutStreams context.CancelFunc

	deadline time.Time // see Server.Deadline; set before begun ends
}

// What hangs is left behind, so that a shutdown ends within [EndSlack] after its drain. The parts
// of EndSlack, without that of the store:
const (
	cutGrace        = 500 * time.Millisecond // for streams that were cut, before calls are ended
	stopGrace       = 500 * time.Millisecond // for calls that were ended
	backgroundGrace = 300 * time.Millisecond // for work that no call waits for; see endBackground
	opsGrace        = backgroundGrace        // for pages of the ops listener, meanwhile
)

// EndSlack is the time after Config.DrainDelay and Config.DrainTimeout by which the process should
// end, whatever hangs.
const EndSlack = 2 * time.Second

func newDrain() drain {
	var d drain
	d.begun, d.begin = context.WithCancel(context.Background())
	d.streams, d.tellStreams = context.WithCancel(context.Background())
	d.cut, d.cutStreams = context.WithCancel(context.Background())
	return d
}

func (s *Server) isDraining() bool { return s.drain.begun.Err() != nil }

// Deadline returns the time by which the process should end, see [EndSlack]. It is zero before the
// shutdown has begun.
func (s *Server) Deadline() time.Time {
	if !s.isDraining() {
		return time.Time{}
	}
	return s.drain.deadline
}

// end is the time until which calls may finish. Before the shutdown it lies in the past.
func (d *drain) end() time.Time { return d.deadline.Add(-EndSlack) }

// shutDown runs the drain. It returns when no handler runs any more, or when those that run have
// had their time.
func (s *Server) shutDown() {
	s.log.Info("draining", stage.Millis("delay_ms", s.cfg.DrainDelay),
		stage.Millis("timeout_ms", s.cfg.DrainTimeout))
	s.drain.deadline = time.Now().Add(s.cfg.DrainDelay + s.cfg.DrainTimeout + EndSlack)
	s.drain.begin()
	s.health.Shutdown()
	time.Sleep(s.cfg.DrainDelay)
	s.drain.tellStreams()

	drained := background.Ended(func() {
		var all sync.WaitGroup // they have no time limit of their own
		all.Go(s.grpc.GracefulStop)
		all.Go(s.adminGRPC.GracefulStop)
		all.Go(s.json.drain)
		all.Wait()
	})
	if background.Within(drained, s.cfg.DrainTimeout) {
		s.log.Info("drained")
		return
	}
	s.drain.cutStreams()
	if !background.Within(drained, cutGrace) {
		s.log.Warn("drain timeout: ending the calls in flight")
		s.stopGRPC()
	}
}

// stopGRPC ends the calls in flight. Calls that do not end are left behind.
func (s *Server) stopGRPC() {
	stopped := background.Ended(func() {
		var all sync.WaitGroup
		all.Go(s.grpc.Stop)
		all.Go(s.adminGRPC.Stop)
		all.Go(s.json.stop)
		all.Wait()
	})
	if !background.Within(stopped, stopGrace) {
		s.log.Warn("calls do not end: leaving them behind")
	}
}
