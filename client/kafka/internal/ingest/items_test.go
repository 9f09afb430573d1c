package ingest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/client"
	"github.com/gsimc/gsimc/internal/test/check"
)

// change is a record of an item; no value is a tombstone.
func change(key, value string) *kgo.Record {
	r := &kgo.Record{Topic: "i", Key: []byte(key)}
	if value != "" {
		r.Value = []byte(value)
	}
	return r
}

// Calls have up to the second record of an item, apart by mask, and deletions apart from the rest.
func TestGather(t *testing.T) {
	c, _ := alone(t)
	c.assigned(t.Context(), nil, map[string][]int32{"i": {0}})
	l := c.partition("i", 0).lane
	l.push(c.partition("i", 0), []*kgo.Record{change("a", `{"title":"1"}`), change("b", ""),
		change("c", `{"labels":[]}`), change("bad", `{`), change("d", `{"hidden":true}`),
		change("a", ""), change("e", `{"title":"2"}`)})
	writes, rest := l.gather(l.pop(mostItems))
	got := ""
	for _, w := range writes {
		got += fmt.Sprint(w.deletes, " ", w.mask)
		for _, item := range w.items {
			got += " " + item.GetItemId()
		}
		got += "; "
	}
	check.Same(t, "false [] a d; true [] b; false [labels] c; ", got, "calls")
	check.Same(t, 2, len(rest), "records behind them")
}

// What is left of a partition that others took over is not written, since theirs may be newer.
func TestItemsOfOthers(t *testing.T) {
	c, _ := alone(t)
	c.assigned(t.Context(), nil, map[string][]int32{"i": {0}})
	p := c.partition("i", 0)
	p.lane.push(p, []*kgo.Record{change("a", `{"title":"1"}`)})
	writes, _ := p.lane.gather(p.lane.pop(mostItems))
	c.lost(t.Context(), nil, map[string][]int32{"i": {0}})
	check.Must(t, p.lane.send(t.Context(), writes[0])) // no server is there to call
}

// fakeItems is a server of items: what it answers to a call, by its items or ids.
type fakeItems struct {
	pb.UnimplementedItemServiceServer
	answer func(ctx context.Context, deletes bool, ids []string) error
}

func (f *fakeItems) BatchUpsertItems(ctx context.Context, r *pb.BatchUpsertItemsRequest) (
	*pb.BatchUpsertItemsResponse, error) {
	var ids []string
	for _, item := range r.GetItems() {
		ids = append(ids, item.GetItemId())
	}
	return &pb.BatchUpsertItemsResponse{}, f.answer(ctx, false, ids)
}

func (f *fakeItems) BatchDeleteItems(ctx context.Context, r *pb.BatchDeleteItemsRequest) (
	*pb.BatchDeleteItemsResponse, error) {
	return &pb.BatchDeleteItemsResponse{}, f.answer(ctx, true, r.GetItemIds())
}

// writing returns a consumer whose lane of items writes records to a server.
func writing(t *testing.T, options []grpc.ServerOption,
	answer func(ctx context.Context, deletes bool, ids []string) error, records ...*kgo.Record,
) *Consumer {
	t.Helper()
	listener := check.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	server := grpc.NewServer(options...)
	pb.RegisterItemServiceServer(server, &fakeItems{answer: answer})
	go func() { _ = server.Serve(listener) }()
	c, _ := alone(t)
	c.server = check.Get(client.Dial(client.Options{Address: listener.Addr().String()}))(t)
	c.assigned(t.Context(), nil, map[string][]int32{"i": {0, 1}})
	for _, r := range records {
		p := c.partition("i", r.Partition)
		p.lane.push(p, []*kgo.Record{r})
	}
	ctx, stop := context.WithCancel(t.Context())
	var lane sync.WaitGroup
	lane.Go(func() { _ = c.lanes[len(c.lanes)-1].writeItems(ctx) })
	t.Cleanup(func() {
		stop()
		lane.Wait()
		_ = c.server.Close()
		server.Stop()
	})
	return c
}

// A call that is under way when others have taken over a partition of it ends before they are let
// on. What the call has of other partitions is written by another.
func TestItemsUnderWay(t *testing.T) {
	calls, ended := make(chan []string, 9), make(chan bool, 1)
	other := change("b", `{"title":"1"}`)
	other.Partition = 1
	c := writing(t, nil, func(ctx context.Context, _ bool, ids []string) error {
		calls <- ids
		if slices.Contains(ids, "a") {
			limit, _ := ctx.Deadline()
			<-ctx.Done()
			ended <- time.Until(limit) > patience/5
		}
		return nil
	}, change("a", `{"title":"1"}`), other)
	check.Same(t, "[a b]", fmt.Sprint(<-calls), "the first call")
	p := c.partition("i", 0)
	c.lost(t.Context(), nil, map[string][]int32{"i": {0}})
	check.Same(t, true, <-ended, "the first call ended before its time")
	check.Same(t, "[b]", fmt.Sprint(<-calls), "the second call")
	check.Within(t, time.Minute, "b is done", c.partition("i", 1).Empty)
	check.Same(t, false, p.Empty(), "a is done")
}

func TestRefusedItems(t *testing.T) {
	about := func(code codes.Code, reason string, fields ...string) error {
		bad := &errdetails.BadRequest{}
		for _, f := range fields {
			bad.FieldViolations = append(bad.FieldViolations,
				&errdetails.BadRequest_FieldViolation{Field: f, Description: "is bad"})
		}
		s, err := status.New(code, "no").WithDetails(bad, &errdetails.ErrorInfo{Reason: reason})
		check.Must(t, err)
		return s.Err()
	}
	for _, c := range []struct {
		err     error
		refused string
		forGood bool
	}{
		{nil, "map[]", false},
		{errors.New("any"), "map[]", false},
		{about(codes.InvalidArgument, "", "items[7].title", "items[7].labels", "items[1].numbers"),
			"map[1:numbers is bad 7:title is bad]", true},
		{about(codes.InvalidArgument, "", "item_ids[7]", "items"), "map[]", true},
		{about(codes.ResourceExhausted, "TOO_MANY_NUMBERS"), "map[]", true},
		{about(codes.ResourceExhausted, "TOO_MANY_ITEMS"), "map[]", false},
	} {
		check.Same(t, c.refused, fmt.Sprint(refusedItems(c.err)), "refused by %v", c.err)
		check.Same(t, c.forGood, forGood(c.err), "for good by %v", c.err)
	}
}
