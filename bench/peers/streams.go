package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gsimc/gsimc/bench/internal/loadtest"
	"github.com/gsimc/gsimc/bench/internal/result"
	"github.com/gsimc/gsimc/bench/internal/rounds"
	"github.com/gsimc/gsimc/bench/internal/served"
	"github.com/gsimc/gsimc/model"
)

// Of the served contestants.
const (
	streamConnections = 4
	streamBatch       = 100 // events in a message, as one who has many would send them
	observeInFlight   = 64
	redisConnections  = 50
	redisPipeline     = 32

	// Room for the states and the event ids of all users: redis has all it knows in memory too.
	stateCache = "1GiB"
	storeCache = 512 << 20
)

// streamUsers are the numbers of users of the served groups: as many as load draws by
// default, and as the other groups have. The more there are, the seldomer is a user's state still
// in the processor's caches.
var streamUsers = []int{10_000, eventUsers}

// measureStreams sends events of few and of many users.
func (s *session) measureStreams(backends []backend) error {
	var path string
	var items []string
	for _, users := range streamUsers {
		title := fmt.Sprintf("durable events of %d users through sockets", users)
		if s.left(title) {
			continue
		}
		if path == "" {
			var err error
			if path, items, err = s.servedModel(); err != nil {
				return err
			}
		}
		traffic := &loadtest.Traffic{Items: items, Users: users, Page: 10, Stream: 1, Seed: 1}
		if err := s.measureServed(title, path, traffic, backends); err != nil {
			return err
		}
	}
	return nil
}

// measureServed sends the traffic to a real server, which stores the events, folds them into the
// users' states and acknowledges them, beside redis on a socket of the same kind.
func (s *session) measureServed(
	title, path string,
	t *loadtest.Traffic,
	backends []backend,
) (err error) {
	server, err := served.Start(s.ctx, s.gsimc, path, s.path(fmt.Sprintf("served-%d", t.Users)),
		"--state-cache", stateCache, "--store-cache", fmt.Sprint(storeCache))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	client, err := loadtest.Dial(server.Address, streamConnections)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	unary := *t
	unary.Stream, unary.Observe = 0, 1
	ownStream := fmt.Sprintf("gsimc serve, StreamObserve, %d streams, %d events in a message",
		streamConnections, streamBatch)
	settled := func(rate func() (float64, error)) func() (float64, error) {
		return func() (float64, error) {
			defer server.Settle(s.ctx)
			return rate()
		}
	}
	contestants := []rounds.Contestant{
		{
			Name: ownStream,
			Role: result.Own,
			Run:  settled(func() (float64, error) { return s.streamRate(client, t, streamBatch) }),
		},
		{
			Name: fmt.Sprintf("gsimc serve, StreamObserve, %d streams, an event in a message",
				streamConnections),
			Role: result.Own,
			Run:  settled(func() (float64, error) { return s.streamRate(client, t, 1) }),
		},
		{Name: fmt.Sprintf("gsimc serve, Observe, %d in flight", observeInFlight), Role: result.Own,
			Run: settled(func() (float64, error) { return s.observeRate(client, &unary) })},
	}
	for _, b := range backends {
		add := func(writers, batch int) {
			contestants = append(
				contestants,
				rounds.Contestant{
					Role: b.role,
					Run: func() (float64, error) {
						return s.writeRate(b, t.Users, writers, batch)
					},
					Name: fmt.Sprintf("%s, %d callers, %d event(s) in a call", b.name, writers,
						batch),
				},
			)
		}
		switch b.kind {
		case redisKind:
			add(redisConnections, 1)
			add(redisConnections, redisPipeline)
		case boltKind:
			add(1, 1)
		}
	}
	return s.compete(result.Group{
		Title:  title,
		Params: map[string]float64{"served": 1, "k": 256, "users": float64(t.Users)},
		Unit:   "events/s", Higher: true, Ours: ownStream,
		Remarks: fmt.Sprintf("gsimc also checks every event, folds it into the state of its user "+
			"(k = 256), and gives it a revision; redis appends its bytes to a list. "+
			"The states and event ids of all users fit into the server's memory "+
			"(--state-cache %s --store-cache %dMiB). bbolt has no socket.",
			stateCache, storeCache>>20),
	}, contestants)
}

// servedModel trains a model on generated events and returns its file and item ids.
func (s *session) servedModel() (path string, items []string, err error) {
	count := pick(s, 20_000, 1000)
	events := s.path("served.csv")
	if err := s.program("generate", "--items", fmt.Sprint(count), "--users", fmt.Sprint(count),
		"--events", fmt.Sprint(20*count), "--seed", "1", "--out", events); err != nil {
		return "", nil, err
	}
	if path, err = s.train(events, fmt.Sprintf("served-%d", count), 256); err != nil {
		return "", nil, err
	}
	m, err := model.Open(path)
	if err != nil {
		return "", nil, err
	}
	for _, i := range m.Popular() {
		items = append(items, m.ItemID(i))
	}
	return path, items, m.Close()
}

// measuringTime is how long a writer writes in one round.
func (s *session) measuringTime() time.Duration {
	return pick(s, time.Second, 200*time.Millisecond)
}

// streamRate streams for a while, with batch events in a message, and returns how many events a
// second were acknowledged.
func (s *session) streamRate(
	client *loadtest.Client,
	t *loadtest.Traffic,
	batch int,
) (float64, error) {
	sources := make([]*loadtest.Source, streamConnections)
	for i := range sources {
		sources[i] = t.Source(s.nextSource())
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.measuringTime())
	defer cancel()
	begin := time.Now()
	acked, err := client.Pump(ctx, loadtest.Pump{
		Window: max(loadtest.StreamWindow/batch, 1), Batch: batch,
		Next: func(connection int) []byte { return sources[connection].Event() },
	})
	return float64(acked) / time.Since(begin).Seconds(), err
}

// observeRate sends single events for a while.
func (s *session) observeRate(client *loadtest.Client, t *loadtest.Traffic) (float64, error) {
	loop := loadtest.ClosedLoop{
		InFlight: observeInFlight,
		Duration: s.measuringTime(),
		Timeout:  10 * time.Second,
	}
	r := loop.Run(s.ctx, func(int) func() loadtest.Request { return t.Source(s.nextSource()).Next },
		client)
	return r.Rate(), r.Err()
}

// nextSource numbers the sources, so that no two send the same events.
func (s *session) nextSource() int {
	s.sources++
	return s.sources
}
