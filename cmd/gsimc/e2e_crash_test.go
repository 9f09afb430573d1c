package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble"
)

const (
	crashClients = 4
	crashUsers   = 8 // users of each client
)

// crashCycles is the number of kills that hit a stream with events on their way.
func crashCycles() int { return soak.Times(20) }

// crashEvents is the number of events of each client, more than it can send before the kills.
func crashEvents() int { return 1500 * crashCycles() }

// crashClient is a client with its own users. It sends its events in order and
// remembers how many were acknowledged, over any number of servers.
type crashClient struct {
	events []*pb.Event
	acked  int
}

func newCrashClients(m *model.Model) []*crashClient {
	rng := rand.New(rand.NewPCG(42, 43))
	clients := make([]*crashClient, crashClients)
	for c := range clients {
		clients[c] = &crashClient{}
		for j := range crashEvents() {
			item := m.ItemID(int32(rng.IntN(m.NumItems())))
			if j%17 == 16 {
				item = "not in the model"
			}
			clients[c].events = append(clients[c].events, &pb.Event{
				EventId: strconv.Itoa(j), UserId: fmt.Sprintf("client %d user %d", c,
					rng.IntN(crashUsers)), ItemId: item,
				EventTime: &timestamppb.Timestamp{Seconds: int64(1e9 + 60*j)},
			})
		}
	}
	return clients
}

// send streams the events that are not acknowledged, some of which the store
// may have, with the same ids.
func (c *crashClient) send(
	ctx context.Context, conn grpc.ClientConnInterface, told func(acked int),
) error {
	acked, err := streamEvents(ctx, conn, c.events[c.acked:], told)
	c.acked += acked
	return err
}

// kill -9 in the middle of streaming, restart on the same folder, over and over:
// every acknowledged event is there once and in order, and states and answers
// are bit-equal to those of a server that was never interrupted.
func TestKillNineWhileStreaming(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, modelFile := smallModel(t)
	m := check.Get(model.Open(modelFile))(t)
	defer m.Close()
	clients := newCrashClients(m)
	state := filepath.Join(dir, "state")
	rng := rand.New(rand.NewPCG(7, 8))
	hits, cycles := 0, 0
	for ; hits < crashCycles() && cycles < 3*crashCycles(); cycles++ {
		before := acknowledged(clients)
		killWhileStreaming(t, modelFile, state, clients,
			time.Duration(rng.IntN(15000))*time.Microsecond)
		if after := acknowledged(clients); after > before && after < crashClients*crashEvents() {
			hits++
		}
	}
	soak.Injected(t, cycles, "kills")
	soak.Injected(t, acknowledged(clients), "acknowledged events")
	if hits < crashCycles() {
		t.Fatalf("only %d of %d kills hit a stream at work", hits, cycles)
	}
	checkCrashStore(t, state, clients)

	// The rest without interruption, and everything again on a fresh folder.
	interrupted := finishAndAsk(t, modelFile, state, clients)
	fresh := newCrashClients(m)
	uninterrupted := finishAndAsk(t, modelFile, filepath.Join(dir, "uninterrupted"), fresh)
	check.Same(t, uninterrupted, interrupted,
		"answers after %d kills (-uninterrupted +interrupted)", cycles)
}

// killWhileStreaming starts a server, lets all clients stream, and kills it a
// while after the first acknowledgement.
func killWhileStreaming(
	t *testing.T, modelFile, dir string, clients []*crashClient, after time.Duration,
) {
	t.Helper()
	// Extensions come at moments of their own, and answers are compared bit by bit.
	server := startServe(t, modelFile, dir, "--extend-every", "0s")
	conn := server.client(t)
	var wg sync.WaitGroup
	working := make(chan struct{}, 1)
	for _, c := range clients {
		wg.Go(func() {
			// Ends with an error when the server dies, which is the point.
			_ = c.send(t.Context(), conn, func(int) {
				select {
				case working <- struct{}{}:
				default:
				}
			})
		})
	}
	select {
	case <-working:
	case <-time.After(time.Minute): // the kill then hits nothing, and the test says so
	}
	time.Sleep(after)
	check.Must(t, server.Kill())
	wg.Wait()
}

func acknowledged(clients []*crashClient) (n int) {
	for _, c := range clients {
		n += c.acked
	}
	return n
}

// checkCrashStore reads the histories as they lie on disk: for each user they
// are a prefix of what was sent, each event once, at least as far as it was
// acknowledged.
func checkCrashStore(t *testing.T, dir string, clients []*crashClient) {
	t.Helper()
	st := check.Get(pebble.Open(context.Background(), dir, pebble.Options{}))(t)
	defer func() { check.Pass(t, st.Close(), "Close") }()
	for _, c := range clients {
		sent, acked := map[string][]string{}, map[string]int{}
		for j, e := range c.events {
			sent[e.GetUserId()] = append(sent[e.GetUserId()], e.GetEventId())
			if j < c.acked {
				acked[e.GetUserId()]++
			}
		}
		for user, ids := range sent {
			var stored []string
			take := func(v store.Version, e store.Event) error {
				if v.Revision != uint64(len(stored))+1 {
					t.Errorf("%s: revision %d after %d events", user, v.Revision, len(stored))
				}
				stored = append(stored, e.ID)
				return nil
			}
			_, _, err := st.Since(t.Context(), user, store.Version{}, take)
			check.Must(t, err)
			if len(stored) < acked[user] {
				t.Errorf("%s: %d events stored, %d acknowledged", user, len(stored), acked[user])
			}
			if len(stored) > len(ids) || !slices.Equal(stored, ids[:len(stored)]) {
				t.Errorf("%s: what is stored is not a prefix of what was sent", user)
			}
		}
	}
}

// finishAndAsk streams what is not acknowledged, stops and starts the server
// once more, and returns the answers for all users.
func finishAndAsk(
	t *testing.T, modelFile, dir string, clients []*crashClient,
) map[string]bitAnswer {
	t.Helper()
	// Extensions come at moments of their own, and answers are compared bit by bit.
	server := startServe(t, modelFile, dir, "--extend-every", "0s")
	conn := server.client(t)
	answers := map[string]bitAnswer{}
	for _, c := range clients {
		check.Must(t, c.send(t.Context(), conn, nil))
		check.MustSame(t, len(c.events), c.acked, "acknowledged events")
		for _, e := range c.events {
			if _, done := answers[e.GetUserId()]; !done {
				answers[e.GetUserId()] = recommendTo(t, conn, e.GetUserId(), 50)
			}
		}
	}
	server.mustStop(t)
	return answers
}

// What a server has made of new items is kept in its data folder when it ends, and serves again
// after a start, also after a kill.
func TestNewItemsSurviveRestarts(t *testing.T) {
	t.Parallel()
	_, modelFile := smallModel(t)
	dir := t.TempDir()
	server := startServe(t, modelFile, dir, "--extend-every", "100ms")
	conn := server.client(t)
	base := server.version(t)
	for u := range model.MinNewUsers {
		check.Get(pb.NewEventServiceClient(conn).Observe(t.Context(), &pb.ObserveRequest{
			Event: &pb.Event{UserId: fmt.Sprint("user ", u), ItemId: "not in the model"}}))(t)
	}
	before := base
	await(t, "a new item serves, and looks leave it as it is", func() bool {
		time.Sleep(300 * time.Millisecond)
		last := before
		before = server.version(t)
		return before != base && before == last
	})
	server.mustStop(t)
	check.Get(os.Stat(filepath.Join(dir, "extension.main")))(t)
	for range 2 {
		server = startServe(t, modelFile, dir, "--extend-every", "1h")
		await(t, "the extension serves again", func() bool { return server.version(t) == before })
		check.Must(t, server.Kill())
	}
}
