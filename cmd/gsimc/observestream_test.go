package main

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/dataset"
)

// moodyServer settles events as an idempotent store would, and ends its streams in the way that each entry of script says,
// after the events that it says. It serves normally once the script is over.
type moodyServer struct {
	pb.UnimplementedEventServiceServer
	script  []mood
	seen    map[string]bool
	applied []string // items in the order of their first arrival
}

type mood struct {
	after  int        // events settled before the end
	lose   int        // of these, how many at the end are not acknowledged
	code   codes.Code // how the stream ends; OK: with a draining notice
	reject bool       // the first event of the stream is refused
	hang   bool       // the stream does not end then: the server takes and says nothing any more
}

func (s *moodyServer) StreamObserve(stream pb.EventService_StreamObserveServer) error {
	var m *mood
	if len(s.script) > 0 {
		m, s.script = &s.script[0], s.script[1:]
	}
	var events []*pb.Event // of the message
	for n := 1; ; n++ {
		if len(events) == 0 {
			in, err := stream.Recv()
			if err != nil {
				return nil // the client closed its side
			}
			if in.GetSequence() != uint64(n) {
				return status.Errorf(codes.InvalidArgument, "sequence %d, want %d", in.GetSequence(), n)
			}
			events = in.GetEvents()
		}
		out := &pb.StreamObserveResponse{AckedSequence: uint64(n)}
		item := events[0].GetItemId()
		events = events[1:]
		switch {
		case m != nil && m.reject && n == 1:
			out.Exceptions = exception(n, pb.EventDisposition_EVENT_DISPOSITION_REJECTED, "not today")
		case s.seen[item]:
			out.Exceptions = exception(n, pb.EventDisposition_EVENT_DISPOSITION_DUPLICATE, "")
		default:
			s.seen[item] = true
			s.applied = append(s.applied, item)
		}
		if m == nil || n <= m.after-m.lose {
			if m != nil && m.code == codes.OK && n == m.after {
				out.Draining = true
				m = nil
			}
			if err := stream.Send(out); err != nil {
				return err
			}
		}
		if m != nil && m.hang && n >= m.after {
			<-stream.Context().Done()
			return nil
		}
		if m != nil && n >= m.after {
			return status.Error(m.code, "moody")
		}
	}
}

func exception(n int, d pb.EventDisposition, message string) []*pb.StreamEventResult {
	r := &pb.EventResult{Disposition: d}
	if message != "" {
		r.Error = &pb.EventError{Message: message}
	}
	return []*pb.StreamEventResult{{Sequence: uint64(n), Result: r}}
}

// newSender returns a sender of one user's n events to s.
func newSender(t *testing.T, s *moodyServer, n, window int) *sender {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer()
	pb.RegisterEventServiceServer(g, s)
	go func() { _ = g.Serve(listener) }()
	t.Cleanup(g.Stop)
	conn, err := dial(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	data := &dataset.Interactions{Users: []string{"u"}, Ptr: []int64{0, int64(n)}}
	for i := range n {
		data.Items = append(data.Items, string(rune('a'+i)))
		data.Item = append(data.Item, int32(i))
	}
	return &sender{
		client: pb.NewEventServiceClient(conn), source: &fileEvents{Interactions: data, written: timestamppb.Now()},
		window: window, giveUp: 5 * time.Second, acknowledged: func(int) {},
		explain: (&clientFlags{Server: "the server"}).explain,
	}
}

// Whatever ends the streams, every event arrives once and in order, and the counts add up.
func TestSenderReconnects(t *testing.T) {
	const n = 20
	for _, c := range []struct {
		name       string
		window     int
		script     []mood
		duplicates int
		rejected   int
	}{
		{"calm", 4, nil, 0, 0},
		{"window of one", 1, nil, 0, 0},
		{"breaks", 8, []mood{{after: 5, code: codes.Unavailable}, {after: 3, code: codes.Internal}}, 0, 0},
		{"breaks before anything", 8, []mood{{after: 1, lose: 1, code: codes.Unavailable}}, 1, 0},
		{"acknowledgements are lost", 8, []mood{{after: 6, lose: 3, code: codes.Unavailable}}, 3, 0},
		{"drains", 3, []mood{{after: 4, code: codes.OK}}, 0, 0},
		{"rejects", 8, []mood{{after: n + 1, reject: true}}, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := &moodyServer{script: c.script, seen: map[string]bool{}}
			s := newSender(t, server, n, c.window)
			if err := s.run(context.Background()); err != nil {
				t.Fatal(err)
			}
			if s.acked != n || s.duplicates != c.duplicates || s.rejected != c.rejected || s.applied() != n-c.duplicates-c.rejected {
				t.Errorf("acked %d, applied %d, duplicates %d, rejected %d; want %d, %d, %d, %d",
					s.acked, s.applied(), s.duplicates, s.rejected, n, n-c.duplicates-c.rejected, c.duplicates, c.rejected)
			}
			if len(server.applied) != n-c.rejected || !slices.IsSorted(server.applied) {
				t.Errorf("the server applied %v, want each of %d items once and in order", server.applied, n-c.rejected)
			}
			if c.rejected > 0 && s.firstRejection != "not today" {
				t.Errorf("first rejection %q", s.firstRejection)
			}
		})
	}
}

// Errors that a new connection cannot heal end the sending, and so does a server that never comes back.
func TestSenderGivesUp(t *testing.T) {
	s := newSender(t, &moodyServer{script: []mood{{after: 2, code: codes.InvalidArgument}}, seen: map[string]bool{}}, 9, 4)
	if err := s.run(context.Background()); status.Code(err) != codes.InvalidArgument || s.acked != 2 {
		t.Errorf("error %v after %d events, want InvalidArgument after 2", err, s.acked)
	}

	s = newSender(t, &moodyServer{script: slices.Repeat([]mood{{after: 1, lose: 1, code: codes.Unavailable}}, 100), seen: map[string]bool{}}, 9, 4)
	s.giveUp = 50 * time.Millisecond
	if err := s.run(context.Background()); err == nil || !strings.Contains(err.Error(), "gave up after 50ms") {
		t.Errorf("error %v, want that it gave up", err)
	}

	s = newSender(t, &moodyServer{script: []mood{{after: 2, hang: true, code: codes.Unavailable}}, seen: map[string]bool{}}, 9, 4)
	s.giveUp = 200 * time.Millisecond
	err := s.run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "gave up after 200ms") || strings.Contains(err.Error(), "Canceled") {
		t.Errorf("a stream that hangs: error %v, want that it gave up and nothing of a cancellation", err)
	}
	if s.acked != 2 || s.reconnects != 0 {
		t.Errorf("a stream that hangs: %d events acknowledged, %d reconnects, want 2 and 0: time runs from the last acknowledgement", s.acked, s.reconnects)
	}

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := newSender(t, &moodyServer{seen: map[string]bool{}}, 9, 4).run(ctx); err == nil || err.Error() != "interrupted" {
		t.Errorf("error %v, want interrupted", err)
	}
}
