package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// TestUnavailableStore has a store that cannot be reached: calls say so, and probes stay green.
func TestUnavailableStore(t *testing.T) {
	away := fmt.Errorf("%w: no primary", store.ErrUnavailable)
	hooked := &hookedStore{Store: memory.New()}
	ts := start(t, setup{store: &unavailableStats{hooked, away}})
	hooked.AppendFunc, hooked.SinceFunc = failingAppend(away), failingSince(away)
	want := problem{Code: codes.Unavailable, Reason: "STORE_UNAVAILABLE", Retry: true}
	_, err := ts.events.Observe(ctx(t), &pb.ObserveRequest{Event: newEvent("ann", 1)})
	_, asked := ts.recommend.Recommend(ctx(t), forUser("ann"))
	for name, err := range map[string]error{"Observe": err, "Recommend": asked} {
		same(t, want, problemOf(t, err), "%s", name)
	}
	ts.wantGreen(t, "/livez", "ok\n", "gsimc_store_away 1", "gsimc_store_degraded 0")
	ts.wantGreen(t, "/readyz", "ok, but the store does not answer: ")
	hooked.AppendFunc, hooked.SinceFunc = nil, nil
	ts.observe(t, newEvent("ann", 1))
	ts.ask(t, forUser("ann"))
}

// TestRefusedStore has a store that refuses the password of the server: calls and probes say so.
func TestRefusedStore(t *testing.T) {
	refused := &store.RefusedError{What: "password", Answer: "WRONGPASS", Remedy: "change it"}
	hooked := &hookedStore{Store: memory.New()}
	ts := start(t, setup{store: &unavailableStats{hooked, fmt.Errorf("valkey: %w", refused)}})
	hooked.AppendFunc = failingAppend(refused)
	_, err := ts.events.Observe(ctx(t), &pb.ObserveRequest{Event: newEvent("ann", 1)})
	same(t, problem{Code: codes.Unavailable, Reason: "STORE_UNAVAILABLE", Retry: true},
		problemOf(t, err), "Observe")
	ts.wantGreen(t, "/livez", "ok\n", "gsimc_store_away 1")
	ts.wantGreen(t, "/readyz",
		"ok, but the store refuses the password of this server (WRONGPASS): change it")
}

// TestDegradedStore has a store that keeps less than it is set up for: probes and metrics say so.
func TestDegradedStore(t *testing.T) {
	ts := start(t, setup{store: &degradedStats{memory.New()}})
	ts.wantGreen(t, "/livez", "ok\n", "gsimc_store_away 0", "gsimc_store_degraded 1")
	ts.wantGreen(t, "/readyz",
		"ok, but the store keeps less than it is set up for: one copy of two")
	ts.observe(t, newEvent("ann", 1))
	ts.awaitLog(t, "the store keeps less than it is set up for")
}

// wantGreen checks that a probe is green and begins with a text, and that metrics have lines.
func (ts *testServer) wantGreen(t *testing.T, probe, text string, metrics ...string) {
	t.Helper()
	if code, got := ts.get(t, probe); code != 200 || !strings.HasPrefix(got, text) {
		t.Errorf("%s: %d %s, want 200 and %q", probe, code, got, text)
	}
	_, page := ts.get(t, "/metrics")
	for _, line := range metrics {
		check.Has(t, page, "\n"+line+"\n", "the metrics")
	}
}

type degradedStats struct{ store.Store }

func (d *degradedStats) Stats(ctx context.Context) (store.Stats, error) {
	stats, err := d.Store.Stats(ctx)
	stats.Degraded = errors.New("one copy of two")
	return stats, err
}

type unavailableStats struct {
	store.Store
	err error
}

func (u *unavailableStats) Stats(context.Context) (store.Stats, error) {
	return store.Stats{}, u.err
}
