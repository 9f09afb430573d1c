// Package ingest takes the records of a topic of events, and of one of items, to a server. What is
// committed to Kafka is done: it is acknowledged by the server, or among the dead letters.
//
// Partitions share a few lanes, each a stream of events in the order of its partitions. A lane
// sends again what was not acknowledged, and the owner of a partition after this one what was not
// committed; the server knows the events by their ids. All send in order and begin at or before the
// first event that is not done, so that events arrive for the first time in order, too. An event
// that the server has no room for is sent again later, and events behind it may be there before it.
//
// Writes of items have no ids. One lane has all their partitions, makes one call at a time, and
// lets go of what it has of a partition that others took over, lest it write over newer records.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/gsimc/gsimc/client"
	"github.com/gsimc/gsimc/client/kafka/internal/letters"
	"github.com/gsimc/gsimc/client/kafka/internal/mapping"
	"github.com/gsimc/gsimc/client/kafka/internal/offsets"
)

// Config is what a consumer needs. All of it is required, but one of the topics.
type Config struct {
	Kafka   []kgo.Opt // brokers, security
	Topic   string    // of events; empty: none
	Items   string    // topic of items; empty: none
	Group   string
	Session time.Duration // silence after which the group takes a member for dead
	Server  *client.Client
	Lanes   int              // streams to the server
	Mapping *mapping.Mapping // of events
	Letters *letters.Box
	Log     *slog.Logger
}

const (
	// mostHeld is the number of bytes of a partition that are held, give or take a fetch.
	mostHeld = 16 << 20
	// inFlight is the number of events that a lane sends ahead: that of the server's window.
	inFlight = 4096
	// silence is the time without acknowledgements after which a lane connects anew.
	silence = 30 * time.Second
	// commitEvery is the time between two commits.
	commitEvery = 500 * time.Millisecond
	// patience bounds the wait for what is under way when a partition goes.
	patience = 5 * time.Second
	// look is the time between two looks whether it is done.
	look = 5 * time.Millisecond
)

// Consumer reads topics as a member of a group.
type Consumer struct {
	events  string // the topic of them, or empty
	items   string
	kafka   *kgo.Client
	server  *client.Client
	mapping *mapping.Mapping
	letters *letters.Box
	log     *slog.Logger
	metrics *Metrics
	lanes   []*lane     // of events, and behind them that of items
	buried  atomic.Bool // there was a dead letter

	committing sync.Mutex // so that no commit overtakes a later one

	mu         sync.Mutex
	partitions map[place]*partition
	outside    error // why this is no member of the group, or nil
}

// place names a partition.
type place struct {
	topic  string
	number int32
}

// New returns a consumer. It joins the group when it runs.
func New(c Config) (*Consumer, error) {
	consumer := &Consumer{events: c.Topic, items: c.Items, server: c.Server, mapping: c.Mapping,
		letters: c.Letters, log: c.Log, partitions: map[place]*partition{}}
	c.Letters.Failed = func(err error) { consumer.failed("cannot keep a dead letter", err) }
	consumer.metrics = newMetrics(consumer)
	for range c.Lanes + 1 {
		consumer.lanes = append(consumer.lanes,
			&lane{Consumer: consumer, wake: make(chan struct{}, 1)})
	}
	var err error
	consumer.kafka, err = kgo.NewClient(append(c.Kafka,
		kgo.ConsumeTopics(consumer.topics()...), kgo.ConsumerGroup(c.Group),
		kgo.SessionTimeout(c.Session), kgo.HeartbeatInterval(c.Session/5),
		// From the start where nothing is committed, also after a retention shorter than a stop.
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxWait(time.Second),
		kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(consumer.assigned),
		kgo.OnPartitionsRevoked(consumer.revoked),
		kgo.OnPartitionsLost(consumer.lost),
		kgo.AdjustFetchOffsetsFn(consumer.committed),
		kgo.WithLogger(logger{c.Log}))...)
	return consumer, err
}

// topics returns the names of the topics that are read: one or two.
func (c *Consumer) topics() []string {
	return slices.DeleteFunc([]string{c.events, c.items}, func(s string) bool { return s == "" })
}

// Run consumes until ctx ends, which is no error, or the server refuses for good, or a topic is
// deleted. Then it commits what is done, closes the box and leaves the group.
func (c *Consumer) Run(ctx context.Context) error {
	feeding, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	polling, end := context.WithCancel(ctx)
	defer end()
	var lanes, others sync.WaitGroup
	for i, l := range c.lanes {
		lanes.Go(func() {
			var err error
			if i == len(c.lanes)-1 {
				err = l.writeItems(feeding)
			} else {
				err = c.server.Feed(feeding, l, client.SendOptions{InFlight: inFlight,
					GiveUp:       silence,
					Reconnecting: func(_ int, why error) { l.tell("events", why) }})
			}
			if feeding.Err() == nil {
				stop(err)
				end()
			}
		})
	}
	others.Go(func() { c.commitNowAndThen(polling) })
	others.Go(func() {
		if err := c.ask(polling); err != nil && polling.Err() == nil {
			c.failed("nothing can be read yet", err)
		}
	})
	deleted := c.poll(polling)
	end()
	others.Wait()
	rest := c.all()
	c.mu.Lock()
	clear(c.partitions) // so that they are not left once more with the group
	c.mu.Unlock()
	if deleted == nil { // else a topic that is made anew would have the offsets of the old one
		c.leave(context.WithoutCancel(ctx), rest)
	}
	closed := c.letters.Close() // nobody waits for it any more
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	_ = c.kafka.LeaveGroupContext(leaving) // if it cannot, the group notices by itself
	c.kafka.Close()
	refused := context.Cause(feeding)
	stop(nil)
	lanes.Wait()
	return errors.Join(refused, deleted, closed)
}

// poll takes what is fetched to the lanes until ctx ends. It never waits for them, and partitions
// come and go between two polls only. The error is that the topic was deleted.
func (c *Consumer) poll(ctx context.Context) (deleted error) {
	for ctx.Err() == nil && deleted == nil {
		fetches := c.kafka.PollFetches(ctx)
		fetches.EachError(func(topic string, number int32, err error) {
			switch {
			case ctx.Err() != nil:
			case errors.As(err, new(*kgo.ErrGroupSession)):
				c.mu.Lock()
				c.outside = err
				c.mu.Unlock()
				c.failed("the group is away", err)
			case errors.Is(err, kerr.UnknownTopicID):
				deleted = fmt.Errorf("topic %s was deleted: give another --id-prefix "+
					"if one of events is made anew: %w", topic, err)
			default:
				c.failed(fmt.Sprintf("cannot fetch %s/%d", topic, number), err)
			}
		})
		fetches.EachPartition(func(f kgo.FetchTopicPartition) {
			if p := c.partition(f.Topic, f.Partition); p != nil && len(f.Records) > 0 {
				p.lane.push(p, f.Records)
			}
		})
		c.kafka.AllowRebalance()
	}
	return deleted
}

func (c *Consumer) partition(topic string, number int32) *partition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.partitions[place{topic, number}]
}

func (c *Consumer) all() []*partition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.partitions))
}

// assigned begins with partitions.
func (c *Consumer) assigned(_ context.Context, _ *kgo.Client, added map[string][]int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outside = nil
	for at := range places(added) {
		last := len(c.lanes) - 1
		p := &partition{place: at, lane: c.lanes[last]}
		if at.topic == c.events {
			p.lane = c.lanes[int(at.number)%last]
		}
		p.end.Store(-1)
		c.partitions[at] = p
	}
	c.log.Info("partitions assigned", "partitions", added)
}

// places are the partitions of some topics.
func places(all map[string][]int32) iter.Seq[place] {
	return func(yield func(place) bool) {
		for topic, numbers := range all {
			for _, n := range numbers {
				if !yield(place{topic, n}) {
					return
				}
			}
		}
	}
}

// committed notes where the group was.
func (c *Consumer) committed(
	_ context.Context, all map[string]map[int32]kgo.Offset,
) (map[string]map[int32]kgo.Offset, error) {
	for topic, numbers := range all {
		for n, at := range numbers {
			next := at.EpochOffset()
			if p := c.partition(topic, n); p != nil && next.Offset >= 0 { // else there is none
				p.Begin(offsets.Position{Offset: next.Offset, Epoch: next.Epoch})
			}
		}
	}
	return all, nil
}

// revoked finishes what is under way of partitions that others take over, and commits it.
func (c *Consumer) revoked(ctx context.Context, _ *kgo.Client, gone map[string][]int32) {
	c.log.Info("partitions revoked", "partitions", gone)
	c.leave(ctx, c.drop(gone))
}

// lost lets go of partitions that others have taken over.
func (c *Consumer) lost(_ context.Context, _ *kgo.Client, gone map[string][]int32) {
	c.log.Warn("partitions lost", "partitions", gone)
	for _, p := range c.drop(gone) {
		p.lane.leave(p)
		p.lane.abandon(p)
	}
}

func (c *Consumer) drop(gone map[string][]int32) (dropped []*partition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for at := range places(gone) {
		if p := c.partitions[at]; p != nil {
			dropped = append(dropped, p)
			delete(c.partitions, at)
		}
	}
	return dropped
}

// leave waits for what is under way, within bounds, and commits what is done.
func (c *Consumer) leave(ctx context.Context, partitions []*partition) {
	for _, p := range partitions {
		p.lane.leave(p)
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, p := range partitions {
		for !p.Empty() && waiting.Err() == nil {
			time.Sleep(look)
		}
		p.lane.abandon(p)
	}
	c.commit(ctx, func() []*partition { return partitions })
}

func (c *Consumer) commitNowAndThen(ctx context.Context) {
	tick := time.NewTicker(commitEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.commit(ctx, c.all)
		case <-ctx.Done():
			return
		}
	}
}

// commit commits what is done. What cannot be committed is committed next time, or sent again by
// the next owner.
func (c *Consumer) commit(ctx context.Context, which func() []*partition) {
	c.committing.Lock()
	defer c.committing.Unlock()
	var moved []*partition
	var last []*kgo.Record // of each
	for _, p := range which() {
		if next, known := p.Next(); known && next.Offset != p.committed {
			moved = append(moved, p)
			last = append(last, &kgo.Record{Topic: p.topic, Partition: p.number,
				LeaderEpoch: next.Epoch, Offset: next.Offset - 1})
		}
	}
	if len(moved) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := c.kafka.CommitRecords(ctx, last...); err != nil {
		for _, usual := range []error{context.Canceled, context.DeadlineExceeded,
			kerr.RebalanceInProgress, kerr.IllegalGeneration, kerr.UnknownMemberID} {
			if errors.Is(err, usual) {
				return
			}
		}
		c.failed("cannot commit", err)
		return
	}
	for i, p := range moved {
		p.committed = last[i].Offset + 1
	}
}
