package main

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
)

// aSecondLater compares lists that were made at different times. The deviation of a score grows with
// the time since the last event of the user; the score does not.
var aSecondLater = cmp.Options{protocmp.Transform(), protocmp.FilterField(new(pb.ScoredItem),
	"score_stddev", cmpopts.EquateApprox(1e-3, 0))}

// Two servers read one file of event types. A change reaches both, one by itself and the other at
// SIGHUP: then they answer as a server does that has had these weights from the beginning. A bad
// file is refused by both. TestEventTypesFile of package server has the answers in between.
func TestEventTypesOfTwoServers(t *testing.T) {
	t.Parallel()
	_, model := smallModel(t)
	types := writeFile(t, "types", "view 0.25\n")
	serve := func(flags ...string) *serverProcess {
		return startServe(t, model, "", append(flags, "--store", "memory")...)
	}
	a, b := serve("--event-types-file", types), serve("--event-types-file", types)
	fresh := serve("--event-weight", "view=-2,like=3,buy=0")
	items := listFor(t, fresh, "somebody").GetItems()
	for _, p := range []*serverProcess{a, b, fresh} {
		for i, item := range items {
			e := &pb.Event{UserId: fmt.Sprint("u", i%3), ItemId: item.GetItemId(),
				EventType: []string{"view", "like", "buy"}[i/2],
				EventTime: &timestamppb.Timestamp{Seconds: 1_700_000_000 + int64(i)}}
			check.Get(pb.NewEventServiceClient(p.client(t)).Observe(t.Context(),
				&pb.ObserveRequest{Event: e}))(t)
		}
	}
	differences := func(p *serverProcess) (d string) {
		for u := range 3 {
			user := fmt.Sprint("u", u)
			d += cmp.Diff(listFor(t, fresh, user).GetItems(), listFor(t, p, user).GetItems(),
				aSecondLater)
		}
		return d
	}
	if differences(a) == "" {
		t.Error("other weights give the same lists")
	}
	rewrite := func(text string) {
		t.Helper()
		replace(t, types, text)
		check.Must(t, b.Signal(syscall.SIGHUP))
	}
	rewrite("view 0.25\nlike many\n")
	for _, p := range []*serverProcess{a, b} {
		p.awaitLog(t, "new event types refused: the old ones stay", 1)
		p.awaitLog(t, `line 2 has the weight \"many\"`, 1)
	}
	rewrite("view -2\nlike 3\nbuy 0\n")
	for _, p := range []*serverProcess{a, b} {
		p.awaitLog(t, "event types read again", 1)
		if d := differences(p); d != "" {
			t.Errorf("(-from the beginning +after the change):\n%s", d)
		}
	}
}
