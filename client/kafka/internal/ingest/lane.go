package ingest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/client/kafka/internal/offsets"
)

// partition is a partition for as long as it is assigned to this program.
type partition struct {
	place
	lane *lane
	offsets.Tracker
	// end is the offset behind the last record that the brokers had when they were asked, or -1.
	end atomic.Int64
	// gone: others have it, and nothing of it is to be sent again.
	gone atomic.Bool

	committed int64 // under the lock of commits: what was committed last
	// under the lock of the lane
	held   int  // bytes of what was fetched, from the first record that is not done on
	paused bool // not fetched
}

// lane is a stream of events to the server, of the partitions that share it. It implements
// client.Source. That of items makes calls instead.
type lane struct {
	*Consumer
	wake chan struct{} // holds a token when something has come

	mu       sync.Mutex
	waiting  []sent
	underWay []sent // in the order of Next
	broken   error  // why nothing is acknowledged at present
	stop     func() // ends the call that writes items, and waits for its end; nil: there was none
}

type sent struct {
	of     *partition
	record *kgo.Record
	number int // when it no longer waits
}

// push adds what was fetched. It never waits: a partition of which much is held is fetched no more
// until it is not.
func (l *lane) push(p *partition, records []*kgo.Record) {
	l.mu.Lock()
	p.Begin(position(records[0]))
	for _, r := range records {
		l.waiting = append(l.waiting, sent{of: p, record: r})
		p.held += size(r)
	}
	if p.held >= mostHeld && !p.paused {
		p.paused = true
		l.kafka.PauseFetchPartitions(map[string][]int32{p.topic: {p.number}})
	}
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func position(r *kgo.Record) offsets.Position {
	return offsets.Position{Offset: r.Offset, Epoch: r.LeaderEpoch}
}

// size is what a record takes of the memory, by and large.
func size(r *kgo.Record) int {
	n := 200 + len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		n += 40 + len(h.Key) + len(h.Value)
	}
	return n
}

// Next implements client.Source.
func (l *lane) Next(ctx context.Context, most int) []*pb.Event {
	for ctx.Err() == nil {
		events, some := l.take(most)
		if len(events) > 0 {
			return events
		}
		if some {
			continue
		}
		l.wait(ctx)
	}
	return nil
}

// wait waits until something has come.
func (l *lane) wait(ctx context.Context) {
	select {
	case <-l.wake:
	case <-ctx.Done():
	}
}

// pop takes up to most of the records that wait longest, which are then under way.
func (l *lane) pop(most int) []sent {
	l.mu.Lock()
	defer l.mu.Unlock()
	front := l.waiting[:min(most, len(l.waiting))]
	l.waiting = l.waiting[len(front):]
	all := slices.Clone(front)
	clear(front) // so that the records may go
	for i, s := range all {
		all[i].number = s.of.Add(position(s.record), size(s.record))
	}
	return all
}

// take makes events of the records that wait longest, if there are some. It may make none of them.
func (l *lane) take(most int) (events []*pb.Event, some bool) {
	all := l.pop(most)
	good := all[:0]
	for _, s := range all {
		e, err := l.mapping.Event(s.record)
		if err != nil {
			l.bury(s, unreadable, err.Error())
			continue
		}
		events = append(events, e)
		good = append(good, s)
	}
	l.mu.Lock()
	l.underWay = append(l.underWay, good...)
	l.mu.Unlock()
	return events, len(all) > 0
}

// Settled implements client.Source.
func (l *lane) Settled(result *pb.EventResult) {
	l.mu.Lock()
	s := l.underWay[0]
	l.underWay[0] = sent{}
	l.underWay = l.underWay[1:]
	l.broken = nil
	l.mu.Unlock()
	outcome := applied
	switch result.GetDisposition() {
	case pb.EventDisposition_EVENT_DISPOSITION_REJECTED:
		l.bury(s, rejected, result.GetError().GetMessage())
		return
	case pb.EventDisposition_EVENT_DISPOSITION_DUPLICATE:
		outcome = duplicate
	case pb.EventDisposition_EVENT_DISPOSITION_PENDING_ITEM:
		outcome = pending
	}
	l.metrics.delay.Observe(time.Since(s.record.Timestamp).Seconds())
	l.done(s, outcome)
}

// bury puts a record among the dead letters. It is done when it is there. The first one is logged,
// since with a wrong mapping all records go there. The reason may name a user, and is not logged.
func (l *lane) bury(s sent, outcome, reason string) {
	if !l.buried.Swap(true) {
		l.log.Warn("a record became a dead letter: its reason stands there; further ones are "+
			"not logged", "topic", s.of.topic, "partition", s.record.Partition,
			"offset", s.record.Offset)
	}
	l.letters.Put(s.record, reason, func() { l.done(s, outcome) })
}

func (l *lane) done(s sent, outcome string) {
	l.metrics.records.WithLabelValues(outcome, s.of.topic).Inc()
	released := s.of.Done(s.number)
	l.mu.Lock()
	defer l.mu.Unlock()
	s.of.held -= released
	if s.of.paused && s.of.held <= mostHeld/4 {
		s.of.paused = false
		l.kafka.ResumeFetchPartitions(map[string][]int32{s.of.topic: {s.of.number}})
	}
}

// leave lets go of a partition. What of it is not under way is left to the next owner.
func (l *lane) leave(p *partition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = slices.DeleteFunc(l.waiting, func(s sent) bool { return s.of == p })
	if p.paused {
		p.paused = false
		l.kafka.ResumeFetchPartitions(map[string][]int32{p.topic: {p.number}})
	}
}

// abandon ends the wait for what is under way of a partition. No call has items of it afterwards.
func (l *lane) abandon(p *partition) {
	p.gone.Store(true)
	l.mu.Lock()
	stop := l.stop
	l.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// tell notes why the server takes none of what this lane has.
func (l *lane) tell(what string, why error) {
	l.mu.Lock()
	l.broken = fmt.Errorf("the server takes no %s: %w", what, why)
	l.mu.Unlock()
	l.metrics.reconnects.Inc()
	l.log.Warn("the server takes no "+what+" at present", "error", why)
}
