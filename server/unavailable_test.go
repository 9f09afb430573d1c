package server

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// TestUnavailableStore has a store that cannot be reached: calls say so, and probes stay green.
func TestUnavailableStore(t *testing.T) {
	away := fmt.Errorf("%w: no primary", store.ErrUnavailable)
	hooked := &hookedStore{Store: memory.New()}
	ts := start(t, setup{store: &unavailableStats{hooked, away}})
	hooked.AppendFunc = func(context.Context, []store.Record) ([]store.Result, error) {
		return nil, away
	}
	hooked.SinceFunc = func(context.Context, string, store.Version,
		func(store.Version, store.Event) error) (store.Version, bool, error) {
		return store.Version{}, false, away
	}
	want := problem{Code: codes.Unavailable, Reason: "STORE_UNAVAILABLE", Retry: true}
	_, err := ts.events.Observe(ctx(t), &pb.ObserveRequest{Event: newEvent("ann", 1)})
	_, asked := ts.recommend.Recommend(ctx(t), forUser("ann"))
	for name, err := range map[string]error{"Observe": err, "Recommend": asked} {
		if d := cmp.Diff(want, problemOf(t, err)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	for _, probe := range []string{"/livez", "/readyz"} {
		if code, text := ts.get(t, probe); code != 200 {
			t.Errorf("%s: %d %s", probe, code, text)
		}
	}
	hooked.AppendFunc, hooked.SinceFunc = nil, nil
	ts.observe(t, newEvent("ann", 1))
	ts.ask(t, forUser("ann"))
}

type unavailableStats struct {
	store.Store
	err error
}

func (u *unavailableStats) Stats(context.Context) (store.Stats, error) {
	return store.Stats{}, u.err
}
