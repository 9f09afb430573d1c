package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

const day = 24 * time.Hour

// testAges are those of the tests: randomEvent draws times of the last 11 days.
var testAges = event.Ages{Most: 8 * day, ByType: map[string]time.Duration{"view": 3 * day}}

// lateClock is a clock of several servers that a test sets forward.
type lateClock struct{ late, ticks atomic.Int64 }

func (c *lateClock) Now() time.Time {
	return testNow.Add(time.Duration(c.late.Load()) + time.Duration(c.ticks.Add(1))*time.Microsecond)
}

// retaining is a setup by the clock, whose servers take out events of these ages.
func retaining(su setup, clock *lateClock, ages event.Ages) setup {
	config := su.config
	su.config = func(c *Config) {
		if config != nil {
			config(c)
		}
		c.Now, c.Retain = clock.Now, ages
	}
	su.bounds = func(b *bounds) { b.retentionWake = 5 * time.Millisecond }
	return su
}

// swept waits until one of the servers has made a number of passes.
func swept(t *testing.T, passes int, servers ...*testServer) {
	t.Helper()
	eventually(t, fmt.Sprint(passes, " passes"), func() bool {
		n := 0
		for _, ts := range servers {
			n += strings.Count(ts.logs.String(), "old events are out of the store")
		}
		if n > passes {
			t.Fatalf("%d passes, want %d", n, passes)
		}
		return n == passes
	})
}

// Once events are too old, users are at every server of a store, to the last bit, those who never
// sent them, and they are taken out by one of the servers.
func TestOldEventsLeave(t *testing.T) {
	t.Parallel()
	soak.Native(t)
	for name, su := range rewriteSetups(t) {
		t.Run(name, func(t *testing.T) {
			overStores(t, func(t *testing.T, open func() store.Store) {
				oldEventsLeave(t, su, open)
			})
		})
	}
}

func oldEventsLeave(t *testing.T, su setup, open func() store.Store) {
	clock := &lateClock{}
	forever, limited := retaining(su, clock, event.Ages{}), retaining(su, clock, testAges)
	forever.store = open()
	servers := []*testServer{start(t, forever)}
	clean := start(t, retaining(su, clock, event.Ages{}))
	rng := rand.New(rand.NewPCG(7, 1))
	live := map[string][]*pb.Event{}
	for u := range soak.Times(6) + 2 {
		user := fmt.Sprint("user-", u)
		for i := range rng.IntN(30) {
			e := randomEvent(rng, user, i)
			if u == 0 { // all too old
				e.EventTime.Seconds -= int64(20 * day / time.Second)
			}
			servers[0].observe(t, e)
			live[user] = append(live[user], e)
		}
		servers[0].bits(t, user) // it is cached there
	}
	limiting := 1
	if _, shared := forever.store.(store.Shared); shared {
		limiting = 2
	}
	for range limiting {
		limited.store = open()
		servers = append(servers, start(t, limited))
	}
	gone := 0
	for pass := range 3 {
		swept(t, pass+1, servers...)
		for user, events := range live {
			kept := slices.DeleteFunc(slices.Clone(events), func(e *pb.Event) bool {
				return testAges.Passed(e.GetEventType(), e.GetEventTime().AsTime(), clock.Now())
			})
			gone += len(events) - len(kept)
			live[user] = kept
			reply(t, clean.users.DeleteUser, &pb.DeleteUserRequest{UserId: user, AllowMissing: true})
			for _, e := range kept {
				clean.observe(t, e)
			}
			for i, ts := range servers {
				ts.wantSameUser(t, clean, user, fmt.Sprintf("%s, pass %d, server %d", user, pass, i))
			}
		}
		taken := 0.0
		for _, ts := range servers {
			taken += value1(t, ts, "gsimc_retention_events_total")
			same(t, 0.0, value1(t, ts, "gsimc_panics_total"), "panics")
		}
		same(t, float64(gone), taken, "events taken out after pass %d", pass)
		clock.late.Add(int64(day + time.Hour))
	}
}

// A history that is too long stays and is reported, an error of the store ends a pass, and the next
// one comes soon.
func TestOldEventsThatStay(t *testing.T) {
	clock := &lateClock{}
	var fail atomic.Bool
	fail.Store(true)
	st := &hookedStore{Store: memory.New(), RewriteFunc: func(context.Context) error {
		if fail.Load() {
			return errors.New("no writes")
		}
		return nil
	}}
	for user, events := range map[string]int{"long": 9, "short": 5} {
		for i := range events {
			_, err := st.Append(t.Context(), []store.Record{{User: user, Event: store.Event{
				ID: fmt.Sprint(i), Item: item(i), Time: testNow.Add(-time.Duration(i) * 3 * day), Value: 1}}})
			must(t, err)
		}
	}
	su := retaining(setup{store: st}, clock, event.Ages{Most: 7 * day})
	wake := su.bounds
	su.bounds = func(b *bounds) { wake(b); b.users.RewriteHistory = 8 }
	ts := start(t, su)
	eventually(t, "a failed pass", func() bool {
		return strings.Contains(ts.logs.String(), "old events could not be taken out of the store")
	})
	same(t, float64(testNow.Unix()), float64(int64(value1(t, ts,
		"gsimc_retention_pass_timestamp_seconds"))), "without a pass, the start of the server")
	fail.Store(false)
	swept(t, 1, ts)
	same(t, 6.0, value1(t, ts, "gsimc_retention_due_events"), "events that stay")
	same(t, 2.0, value1(t, ts, "gsimc_retention_events_total"), "events that went")
	for user, want := range map[string]int64{"long": 9, "short": 3} {
		got := reply(t, ts.users.GetUser, &pb.GetUserRequest{UserId: user})
		same(t, want, got.GetUser().GetEventCount(), "events of %s", user)
	}
	clock.late.Store(int64(40 * day))
	swept(t, 2, ts)
	_, err := ts.users.GetUser(ctx(t), &pb.GetUserRequest{UserId: "short"})
	same(t, codes.NotFound, problemOf(t, err).Code, "who has no events left")
}
