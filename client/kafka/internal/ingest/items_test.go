package ingest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

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

// Calls have the first record of each item, apart by mask, and deletions apart from the rest.
func TestGather(t *testing.T) {
	c, _ := alone(t)
	c.assigned(t.Context(), nil, map[string][]int32{"i": {0}})
	l := c.partition("i", 0).lane
	l.push(c.partition("i", 0), []*kgo.Record{change("a", `{"title":"1"}`), change("b", ""),
		change("c", `{"labels":[]}`), change("bad", `{`), change("d", `{"hidden":true}`),
		change("a", ""), change("a", `{"title":"3"}`), change("e", `{"title":"2"}`)})
	writes, rest := l.gather(nil, l.pop(mostItems))
	got := ""
	for _, w := range writes {
		got += fmt.Sprint(w.deletes, " ", w.mask)
		for _, item := range w.items {
			got += " " + item.GetItemId()
		}
		got += "; "
	}
	check.Same(t, "true [] b; false [] a d e; false [labels] c; ", got, "calls")
	check.Same(t, 2, len(rest), "records behind them")
	writes, rest = l.gather(nil, rest)
	check.Same(t, true, writes[0].deletes && len(rest) == 1, "the second record of an item is next")
}

// What is left of a partition that others took over is not written, since theirs may be newer.
func TestItemsOfOthers(t *testing.T) {
	c, _ := alone(t)
	c.assigned(t.Context(), nil, map[string][]int32{"i": {0}})
	p := c.partition("i", 0)
	p.lane.push(p, []*kgo.Record{change("a", `{"title":"1"}`)})
	writes, _ := p.lane.gather(nil, p.lane.pop(mostItems))
	c.lost(t.Context(), nil, map[string][]int32{"i": {0}})
	rest := check.Get(p.lane.round(t.Context(), writes))(t) // no server is there to call
	check.Same(t, 0, len(rest), "what is left")
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

// reason is an error of a server with a reason.
func reason(t *testing.T, code codes.Code, reason string, details ...protoadapt.MessageV1) error {
	t.Helper()
	details = append(details, &errdetails.ErrorInfo{Reason: reason})
	return check.Get(status.New(code, "no").WithDetails(details...))(t).Err()
}

// An item that the server refuses, whether it becomes a dead letter or waits, does not hold up the
// other items of its batch. /healthz does not complain of a dead letter.
func TestItemsSpoilt(t *testing.T) {
	bad := &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
		{Field: "items[7].title", Description: "is bad"}}}
	for _, c := range []struct {
		name  string
		err   error
		waits bool
	}{
		{"full", reason(t, codes.ResourceExhausted, "TOO_MANY_ITEMS"), true},
		{"large", reason(t, codes.ResourceExhausted, "CATALOGUE_TOO_LARGE"), true},
		{"fails", reason(t, codes.Internal, "INTERNAL"), true},
		{"names", reason(t, codes.ResourceExhausted, "TOO_MANY_NUMBERS"), false},
		{"damaged", reason(t, codes.DataLoss, "STORE_CORRUPT"), false},
		{"of another call", reason(t, codes.InvalidArgument, "INVALID_FIELD", bad), false},
		{"message", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var mu sync.Mutex
			met, calls := map[string]bool{}, 0
			value := `{"title":"1"}`
			if c.err == nil {
				value = `{"title":"` + strings.Repeat("x", 2000) + `"}`
			}
			got := writing(t, []grpc.ServerOption{grpc.MaxRecvMsgSize(1000)},
				func(_ context.Context, deletes bool, ids []string) error {
					mu.Lock()
					defer mu.Unlock()
					if calls++; calls == 1 {
						return reason(t, codes.ResourceExhausted, "STORE_FULL") // a complaint
					}
					if !deletes && slices.Contains(ids, "bad") {
						return c.err
					}
					for _, id := range ids {
						met[id] = id != "gone" || deletes
					}
					return nil
				}, change("a", `{"title":"1"}`), change("bad", value), change("bad", value),
				change("b", `{"title":"1"}`), change("gone", `{"title":"1"}`), change("gone", ""))
			l := got.lanes[len(got.lanes)-1]
			check.Within(t, time.Minute, "the others pass", func() bool {
				mu.Lock()
				defer mu.Unlock()
				l.mu.Lock()
				defer l.mu.Unlock()
				return len(met) == 3 && met["gone"] && (l.broken != nil) == c.waits
			})
		})
	}
}

func TestRefusedItems(t *testing.T) {
	about := func(code codes.Code, why string, fields ...string) error {
		bad := &errdetails.BadRequest{}
		for _, f := range fields {
			bad.FieldViolations = append(bad.FieldViolations,
				&errdetails.BadRequest_FieldViolation{Field: f, Description: "is bad"})
		}
		return reason(t, code, why, bad)
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
		{about(codes.Unavailable, "", "items[7].title"), "map[]", false},
	} {
		check.Same(t, c.refused, fmt.Sprint(refusedItems(c.err)), "refused by %v", c.err)
		check.Same(t, c.forGood, forGood(c.err), "for good by %v", c.err)
	}
}
