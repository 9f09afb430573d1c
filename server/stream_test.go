package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/admission"
	"github.com/gsimc/gsimc/server/internal/valid"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
	"github.com/gsimc/gsimc/store/storetest"
)

// clientStream is the client's end of StreamObserve.
type clientStream struct {
	pb.EventService_StreamObserveClient
	cancel context.CancelFunc
}

func openStream(t testing.TB, ts *testServer) clientStream {
	t.Helper()
	c, cancel := context.WithCancel(ctx(t))
	t.Cleanup(cancel)
	s := check.Get(ts.events.StreamObserve(c))(t)
	return clientStream{s, cancel}
}

func (s clientStream) send(t testing.TB, sequence uint64, e *pb.Event) {
	t.Helper()
	if err := s.Send(&pb.StreamObserveRequest{Sequence: sequence, Event: e}); err != nil &&
		!errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
}

// runningStream opens a stream on which an event of ann was settled.
func runningStream(t testing.TB, ts *testServer) clientStream {
	t.Helper()
	s := openStream(t, ts)
	s.send(t, 1, newEvent("ann", 1))
	mustSame(t, uint64(1), check.Get(s.Recv())(t).GetAckedSequence(), "acked")
	return s
}

// streamEnd is what a stream said until its end.
type streamEnd struct {
	acked      uint64
	exceptions []*pb.StreamEventResult
	drained    int
	err        error
}

// rest reads until the end and checks that acknowledgements never fall.
func (s clientStream) rest(t testing.TB) streamEnd {
	t.Helper()
	var o streamEnd
	for {
		resp, err := s.Recv()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				o.err = err
			}
			return o
		}
		if resp.GetAckedSequence() < o.acked {
			t.Errorf("acked_sequence falls from %d to %d", o.acked, resp.GetAckedSequence())
		}
		o.acked = resp.GetAckedSequence()
		o.exceptions = append(o.exceptions, resp.GetExceptions()...)
		if resp.GetDraining() {
			o.drained++
		}
	}
}

func TestStreamObserve(t *testing.T) {
	ts := start(t, setup{})
	s := openStream(t, ts)
	sent := []*pb.Event{
		withID("a", "ann", 1), withID("a", "ann", 1), {UserId: "ann"}, withID("a", "ann", 2),
		{UserId: "bob", ItemId: "unknown"}, nil, withID("b", "ann", 2),
	}
	for i, e := range sent {
		s.send(t, uint64(i+1), e)
	}
	must(t, s.CloseSend())
	got := s.rest(t)
	if got.err != nil || got.acked != uint64(len(sent)) || got.drained != 0 {
		t.Errorf("the stream ended with %v, acked %d, drained %d", got.err, got.acked, got.drained)
	}
	want := []*pb.StreamEventResult{
		{Sequence: 2, Result: &pb.EventResult{Disposition: duplicate, UserRevision: 1}},
		{Sequence: 3,
			Result: &pb.EventResult{Disposition: refused,
				Error: invalidField("item_id", "item_id is required")}},
		{Sequence: 4,
			Result: &pb.EventResult{Disposition: refused,
				Error: statusProto(codes.AlreadyExists, "EVENT_ID_CONFLICT",
					"event_id is in use for another event of this user")}},
		{Sequence: 5, Result: &pb.EventResult{Disposition: pending, UserRevision: 1}},
		{Sequence: 6,
			Result: &pb.EventResult{Disposition: refused,
				Error: invalidField("event", "event is required")}},
	}
	same(t, want, got.exceptions, "exceptions")
}

func TestStreamObserveSequence(t *testing.T) {
	ts := start(t, setup{})
	for _, tt := range []struct {
		name  string
		sent  []uint64
		acked uint64
	}{
		{"begins with 0", []uint64{0}, 0}, {"begins with 2", []uint64{2}, 0},
		{"gap", []uint64{1, 2, 4}, 2}, {"repeat", []uint64{1, 2, 2}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := openStream(t, ts)
			for _, n := range tt.sent {
				s.send(t, n, withID(fmt.Sprint(tt.name, n), tt.name, 1))
			}
			got := s.rest(t)
			same(t, tt.acked, got.acked, "acked")
			want := problem{Code: codes.InvalidArgument, Reason: "SEQUENCE_OUT_OF_ORDER",
				Fields: []string{"sequence"}}
			same(t, want, problemOf(t, got.err), "end of the stream")
			stored := check.Get(storetest.Revision(t.Context(), ts.store, tt.name))(t)
			same(t, tt.acked, stored, "events stored")
		})
	}
}

// Many events of few users: the order within a user is kept, everything is visible when
// acknowledged, and the answers are those of single Observes.
func TestStreamObserveOrder(t *testing.T) {
	const n = 3000
	ts, single := start(t, setup{}), start(t, setup{})
	s := openStream(t, ts)
	go func() {
		for i := range n {
			s.send(t, uint64(i+1), withID(fmt.Sprint(i), fmt.Sprint("user", i%7), i*i%testItems))
		}
		if err := s.CloseSend(); err != nil {
			t.Error(err)
		}
	}()
	if got := s.rest(t); got.err != nil || got.acked != n || len(got.exceptions) != 0 {
		t.Fatalf("acked %d of %d, %d exceptions, end %v", got.acked, n, len(got.exceptions),
			got.err)
	}
	for i := range n {
		e := withID(fmt.Sprint(i), fmt.Sprint("user", i%7), i*i%testItems)
		check.Get(single.services.events.Observe(t.Context(), &pb.ObserveRequest{Event: e}))(t)
	}
	for u := range 7 {
		req := forUser(fmt.Sprint("user", u))
		req.Seen = &pb.SeenPolicy{Mode: pb.SeenPolicy_MODE_INCLUDE}
		same(t, single.ask(t, req), ts.ask(t, req), "user %d (-single +stream)", u)
	}
}

// While the store hangs, the server reads ahead no more than its window and what the transport
// buffers.
func TestStreamObserveWindow(t *testing.T) {
	release := make(chan struct{})
	ts := start(t, setup{store: slowStore(release)})
	s := openStream(t, ts)
	const n = 20_000
	var sent atomic.Int64
	go func() {
		for i := range n {
			s.send(t, uint64(i+1),
				&pb.Event{UserId: "ann", ItemId: string(make([]byte, 200)), EventId: fmt.Sprint(i)})
			sent.Add(1)
		}
		if err := s.CloseSend(); err != nil {
			t.Error(err)
		}
	}()
	last := int64(-1)
	for now := sent.Load(); now != last; now = sent.Load() { // until the client is held back
		last = now
		time.Sleep(200 * time.Millisecond)
	}
	if last > n/2 {
		t.Errorf("%d of %d events were taken while nothing could be settled", last, n)
	}
	close(release)
	if got := s.rest(t); got.err != nil || got.acked != n {
		t.Errorf("acked %d of %d, end %v", got.acked, n, got.err)
	}
}

// A client that goes away takes its stream along.
func TestStreamObserveClientGone(t *testing.T) {
	ts := start(t, setup{})
	for range 10 {
		s := runningStream(t, ts)
		s.cancel()
	}
	eventually(t, "the streams end",
		func() bool { return value1(t, ts, "gsimc_stream_clients") == 0 })
	stored := check.Get(storetest.Revision(t.Context(), ts.store, "ann"))(t)
	same(t, uint64(10), stored, "events stored of 10 acknowledged ones")
}

// TestStreamSeveralInAMessage mixes messages of one event and of several: each event has its own
// sequence number and outcome.
func TestStreamSeveralInAMessage(t *testing.T) {
	ts := start(t, setup{})
	s := openStream(t, ts)
	several := func(sequence uint64, events ...*pb.Event) {
		t.Helper()
		must(t, s.Send(&pb.StreamObserveRequest{Sequence: sequence, Events: events}))
	}
	several(1, withID("a", "ann", 1), withID("a", "ann", 1), &pb.Event{UserId: "ann"},
		withID("b", "ann", 2))
	s.send(t, 5, withID("c", "ann", 3))
	// without id and time: two different events
	several(6, withID("b", "bob", 1), newEvent("bob", 4), newEvent("bob", 4))
	must(t, s.CloseSend())
	got := s.rest(t)
	if got.err != nil || got.acked != 8 {
		t.Errorf("acked %d of 8: %v", got.acked, got.err)
	}
	exceptions := map[uint64]pb.EventDisposition{}
	for _, e := range got.exceptions {
		exceptions[e.GetSequence()] = e.GetResult().GetDisposition()
	}
	want := map[uint64]pb.EventDisposition{2: pb.EventDisposition_EVENT_DISPOSITION_DUPLICATE,
		3: pb.EventDisposition_EVENT_DISPOSITION_REJECTED}
	same(t, want, exceptions, "exceptions differ")
	for user, want := range map[string]uint64{"ann": 3, "bob": 3} {
		got := check.Get(storetest.Revision(ctx(t), ts.store, user))(t)
		same(t, want, got, "events of %s", user)
	}
}

// TestStreamRefusedMessages ends streams by messages that are wrong as a whole, after what came
// before was acknowledged.
func TestStreamRefusedMessages(t *testing.T) {
	ts := start(t, setup{})
	for field, req := range map[string]*pb.StreamObserveRequest{
		"sequence": {Sequence: 2, Events: []*pb.Event{newEvent("u", 1)}},
		"events":   {Sequence: 3, Event: newEvent("u", 1), Events: []*pb.Event{newEvent("u", 1)}},
		"events ":  {Sequence: 3, Events: make([]*pb.Event, valid.MaxBatch+1)},
	} {
		for i := range req.Events {
			req.Events[i] = newEvent("u", 1)
		}
		s := openStream(t, ts)
		must(t, s.Send(&pb.StreamObserveRequest{Sequence: 1,
			Events: []*pb.Event{newEvent("u", 1), newEvent("u", 2)}}))
		if err := s.Send(req); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		got := s.rest(t)
		p := problemOf(t, got.err)
		if got.acked != 2 || p.Code != codes.InvalidArgument || len(p.Fields) != 1 ||
			p.Fields[0] != strings.TrimSpace(field) {
			t.Errorf("%q: acked %d, end %+v, want 2 and InvalidArgument of that field", field,
				got.acked, p)
		}
	}
}

// manyEvents are more than a stream may have beside the budget.
func manyEvents() (many []*pb.Event) {
	for i := range 900 {
		many = append(many, newEvent(strings.Repeat("u", 100), i%testItems))
	}
	return many
}

// What a stream has read ahead is given back, even if its handler panics.
func TestReadAheadIsGivenBack(t *testing.T) {
	inner, broken := memory.New(), true
	hooked := &hookedStore{Store: inner}
	hooked.AppendFunc = func(c context.Context, r []store.Record) ([]store.Result, error) {
		if broken {
			panic("broken")
		}
		return inner.Append(c, r)
	}
	ts := start(t, setup{store: hooked,
		bounds: func(b *bounds) { b.readAhead = admission.NewBudget(1) }})
	many := manyEvents()
	for range 3 {
		s := openStream(t, ts)
		must(t, s.Send(&pb.StreamObserveRequest{Sequence: 1, Events: many}))
		check.MustSame(t, codes.Internal, problemOf(t, s.rest(t).err).Code,
			"a stream whose handler panics ends with")
	}
	broken = false
	s := openStream(t, ts)
	must(t, s.Send(&pb.StreamObserveRequest{Sequence: 1, Events: many}))
	check.Pass(t, check.Err(s.Recv()), "a stream after them")
}

// What came behind the events that a handler panics over is given back too.
func TestUnsettledReadAheadIsGivenBack(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	hooked := &hookedStore{Store: memory.New(),
		AppendFunc: func(context.Context, []store.Record) ([]store.Result, error) {
			close(began)
			<-release
			panic("broken")
		}}
	ts := start(t, setup{store: hooked,
		bounds: func(b *bounds) { b.readAhead = admission.NewBudget(1) }})
	s := openStream(t, ts)
	s.send(t, 1, newEvent("ann", 1))
	<-began
	many := manyEvents()
	must(t, s.Send(&pb.StreamObserveRequest{Sequence: 2, Events: many}))
	eventually(t, "they are read ahead", func() bool { return !leaves(ts.readAhead) })
	close(release)
	same(t, codes.Internal, problemOf(t, s.rest(t).err).Code,
		"a stream whose handler panics ends with")
	eventually(t, "they are given back", func() bool { return leaves(ts.readAhead) })
}

// leaves reports whether something is left of a budget.
func leaves(b *admission.Budget) bool {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if b.Take(over, 1) != nil {
		return false
	}
	b.Give(1)
	return true
}
