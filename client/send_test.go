package client

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/nettest"
)

// moodyServer settles events as an idempotent store would, and ends its streams in the way that
// each entry of script says, after the events that it says. It serves normally once the script is
// over.
type moodyServer struct {
	pb.UnimplementedEventServiceServer
	mu      sync.Mutex // a stream may begin before the server sees the end of the one before
	script  []mood
	seen    map[string]bool
	applied []string // items in the order of their first arrival
}

// items returns the items that were applied.
func (s *moodyServer) items() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.applied)
}

// next returns the mood of the next stream.
func (s *moodyServer) next() (m *mood) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.script) > 0 {
		m, s.script = &s.script[0], s.script[1:]
	}
	return m
}

// apply tells whether an item arrives for the first time.
func (s *moodyServer) apply(item string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[item] {
		return false
	}
	s.seen[item] = true
	s.applied = append(s.applied, item)
	return true
}

type mood struct {
	after  int           // events settled before the end
	lose   int           // of these, how many at the end are not acknowledged
	code   codes.Code    // how the stream ends; OK: with a draining notice
	reject int           // the event of the stream that is refused, from 1; 0: none
	full   bool          // there is no room for the last of the events, or what code says
	slow   time.Duration // before each acknowledgement
	hang   bool          // the stream does not end then: the server takes and says nothing any more
}

func (s *moodyServer) StreamObserve(stream pb.EventService_StreamObserveServer) error {
	m := s.next()
	var events []*pb.Event // of the message
	for n := 1; ; n++ {
		if len(events) == 0 {
			in, err := stream.Recv()
			if err != nil {
				return nil // the client closed its side
			}
			if in.GetSequence() != uint64(n) {
				return status.Errorf(codes.InvalidArgument, "sequence %d, want %d",
					in.GetSequence(), n)
			}
			events = in.GetEvents()
		}
		out := &pb.StreamObserveResponse{AckedSequence: uint64(n)}
		item := events[0].GetItemId()
		events = events[1:]
		switch {
		case m != nil && n == m.reject:
			out.Exceptions = exception(n, pb.EventDisposition_EVENT_DISPOSITION_REJECTED,
				"not today")
		case m != nil && m.full && n == m.after:
			out.Exceptions = exception(n, pb.EventDisposition_EVENT_DISPOSITION_REJECTED, "full")
			out.Exceptions[0].Result.Error.Code = int32(cmp.Or(m.code, codes.ResourceExhausted))
		case !s.apply(item):
			out.Exceptions = exception(n, pb.EventDisposition_EVENT_DISPOSITION_DUPLICATE, "")
		}
		if m != nil {
			time.Sleep(m.slow)
		}
		if m == nil || m.full || n <= m.after-m.lose {
			if m != nil && m.code == codes.OK && n == m.after {
				out.Draining = true
				m = nil
			}
			if err := stream.Send(out); err != nil {
				return err
			}
		}
		if m != nil && m.full {
			continue // until the client goes
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
		r.Error = &statuspb.Status{Message: message}
	}
	return []*pb.StreamEventResult{{Sequence: uint64(n), Result: r}}
}

// letters are n events of one user on the items a, b, c and so on.
type letters struct {
	n  int
	at *timestamppb.Timestamp
}

func (l letters) Len() int { return l.n }

func (l letters) Event(i int) *pb.Event {
	return &pb.Event{UserId: "u", ItemId: string(rune('a' + i)), EventTime: l.at}
}

// serve starts a server and returns a client of it.
func serve(t *testing.T, s *moodyServer) *Client {
	t.Helper()
	address, _ := nettest.Serve(t, func(g *grpc.Server) { pb.RegisterEventServiceServer(g, s) })
	return dialTo(t, address)
}

func dialTo(t *testing.T, address string) *Client {
	t.Helper()
	c := check.Get(Dial(Options{Address: address, Timeout: 5 * time.Second}))(t)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// send sends n events to s.
func send(
	ctx context.Context, t *testing.T, s *moodyServer, n, window int, giveUp time.Duration,
) (Sent, error) {
	t.Helper()
	return serve(t, s).Send(ctx, letters{n, timestamppb.Now()},
		SendOptions{InFlight: window, GiveUp: giveUp})
}

// However the streams end, every event arrives once and in order, and the counts add up.
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
		{"breaks", 8, []mood{{after: 5, code: codes.Unavailable}, {after: 3, code: codes.Internal}},
			0, 0},
		{"breaks before anything", 8, []mood{{after: 1, lose: 1, code: codes.Unavailable}}, 1, 0},
		{"acknowledgements are lost", 8, []mood{{after: 6, lose: 3, code: codes.Unavailable}}, 3,
			0},
		{"drains", 3, []mood{{after: 4, code: codes.OK}}, 0, 0},
		{"rejects", 8, []mood{{after: n + 1, reject: 3}}, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := &moodyServer{script: c.script, seen: map[string]bool{}}
			s := check.Get(send(t.Context(), t, server, n, c.window, 5*time.Second))(t)
			if s.Acknowledged != n || s.Duplicates != c.duplicates || s.Rejected != c.rejected ||
				s.Applied() != n-c.duplicates-c.rejected {
				t.Errorf(
					"acknowledged %d, applied %d, duplicates %d, rejected %d; want %d, %d, %d, %d",
					s.Acknowledged, s.Applied(), s.Duplicates, s.Rejected, n,
					n-c.duplicates-c.rejected, c.duplicates, c.rejected)
			}
			if len(server.items()) != n-c.rejected || !slices.IsSorted(server.items()) {
				t.Errorf("the server applied %v, want each of %d items once and in order",
					server.items(), n-c.rejected)
			}
			if c.rejected > 0 && (s.FirstRejection != "not today" || s.FirstRejected != 2) {
				t.Errorf("first rejection %q, of event %d", s.FirstRejection, s.FirstRejected)
			}
		})
	}
}

// An event that the server has no room for, or of which it could not find out whether it has it, is
// not settled: it is sent again with all behind it.
func TestSenderWaitsForRoom(t *testing.T) {
	t.Parallel()
	const n = 12
	for _, code := range []codes.Code{codes.ResourceExhausted, codes.Unavailable} {
		server := &moodyServer{script: []mood{{after: 4, full: true, code: code}},
			seen: map[string]bool{}}
		s := check.Get(send(t.Context(), t, server, n, 2, 5*time.Second))(t)
		applied := slices.Sorted(slices.Values(server.items())) // d may come behind e
		if s.Acknowledged != n || s.Rejected != 0 || s.Reconnects != 1 || len(applied) != n ||
			len(slices.Compact(applied)) != n {
			t.Errorf("%s: %+v, applied %v, want each of %d events once", code, s, server.items(), n)
		}
	}

	// What it could not find out of some in time it finds out when they come again: at once.
	begin := time.Now()
	often := slices.Repeat([]mood{{after: 2, full: true, code: codes.Unavailable}}, n-1)
	s, err := send(t.Context(), t, &moodyServer{script: often, seen: map[string]bool{}}, n, 4,
		5*time.Second)
	if took := time.Since(begin); err != nil || s.Reconnects != n-1 || took > n*quotaBackoff/2 {
		t.Errorf("error %v after %s with %d reconnects, want %d at once", err, took, s.Reconnects, n-1)
	}

	full := slices.Repeat([]mood{{after: 1, full: true}}, 100)
	s, err = send(t.Context(), t, &moodyServer{script: full, seen: map[string]bool{}}, n, 2,
		2*time.Second)
	if e := new(GaveUpError); !errors.As(err, &e) || status.Code(e.Err) == codes.OK ||
		!strings.Contains(err.Error(), "full") {
		t.Errorf("without room for long: error %v, want that it gave up, and why", err)
	}
	check.Same(t, 0, s.Acknowledged, "acknowledged without room for long")
	check.Same(t, 0, s.Rejected, "rejected without room for long")
}

// A lack of room that begins anew, or does not end, is told again after a while.
func TestSenderTellsOfRoom(t *testing.T) {
	told := 0
	c, full := dialTo(t, nettest.Free(t)), &noRoomError{codes.ResourceExhausted, "full"}
	s := &sender{client: c, opt: SendOptions{Reconnecting: func(int, error) { told++ }}}
	for range 3 {
		s.told = false // something was acknowledged
		s.tell(full)
	}
	s.toldFull = s.toldFull.Add(-tellFull)
	s.told = false
	s.tell(full)
	check.Same(t, 2, told, "times it is told: at first and after %s", tellFull)
}

// Errors that a new connection cannot heal end the sending, and so does a server that never comes
// back.
func TestSenderGivesUp(t *testing.T) {
	t.Parallel()
	s, err := send(t.Context(), t,
		&moodyServer{script: []mood{{after: 2, code: codes.InvalidArgument}},
			seen: map[string]bool{}},
		9, 4, 5*time.Second)
	if status.Code(err) != codes.InvalidArgument || s.Acknowledged != 2 {
		t.Errorf("error %v after %d events, want InvalidArgument after 2", err, s.Acknowledged)
	}

	broken := slices.Repeat([]mood{{after: 1, lose: 1, code: codes.Unavailable}}, 100)
	_, err = send(t.Context(), t, &moodyServer{script: broken, seen: map[string]bool{}}, 9, 4,
		50*time.Millisecond)
	check.Says(t, err, "gave up after 50ms", "appending for too long")

	s, err = send(t.Context(), t,
		&moodyServer{script: []mood{{after: 2, hang: true, code: codes.Unavailable}},
			seen: map[string]bool{}},
		9, 4, 2*time.Second)
	if err == nil || !strings.Contains(err.Error(), "gave up after 2s") ||
		strings.Contains(err.Error(), "Canceled") ||
		!errors.Is(err, ErrSilent) {
		t.Errorf(
			"a stream that hangs: error %v, want that it gave up and nothing of a cancellation",
			err)
	}
	// The time runs from the last acknowledgement.
	check.Same(t, 2, s.Acknowledged, "acknowledged by a stream that hangs")
	check.Same(t, 0, s.Reconnects, "reconnects from a stream that hangs")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := send(ctx, t, &moodyServer{seen: map[string]bool{}}, 9, 4,
		5*time.Second); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// Without a server the sending fails at once, with the reason, however patient it is.
func TestSendWithoutServer(t *testing.T) {
	begin := time.Now()
	_, err := dialTo(t, nettest.Free(t)).Send(t.Context(), letters{3, timestamppb.Now()},
		SendOptions{InFlight: 4, GiveUp: time.Minute})
	if e := new(Error); !errors.As(err, &e) || e.Reason != Unreachable ||
		e.Cause != "connection refused" {
		t.Errorf("error %v, want that the connection was refused", err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("it took %s, want at once", took)
	}
}

// A server that goes away for good in the middle is not silent: it cannot be reached. The outage is
// told once.
func TestSendServerGone(t *testing.T) {
	server := &moodyServer{seen: map[string]bool{},
		script: []mood{{after: 2, hang: true, code: codes.Unavailable}}}
	address, stop := nettest.Serve(t, func(g *grpc.Server) {
		pb.RegisterEventServiceServer(g, server)
	})
	told := 0
	s, err := dialTo(t, address).Send(t.Context(), letters{9, timestamppb.Now()},
		SendOptions{
			InFlight: 4, GiveUp: time.Second,
			Acknowledged: func(n int) {
				if n == 2 {
					go stop()
				}
			},
			Reconnecting: func(n int, why error) {
				if told++; n != 2 || why == nil {
					t.Errorf("told of %d acknowledged events and %v, want 2 and a reason", n, why)
				}
			},
		})
	if e := new(Error); !errors.As(err, &e) || e.Reason != Unreachable ||
		!strings.Contains(err.Error(), "gave up after 1s") {
		t.Errorf("error %v, want that it gave up because the server cannot be reached", err)
	}
	if told != 1 || s.Acknowledged != 2 || s.Reconnects < 2 {
		t.Errorf("told %d times, %d acknowledged, %d reconnects; want 1, 2 and several", told,
			s.Acknowledged, s.Reconnects)
	}
}

// Options without which a stream would hang, or end at once, are refused.
func TestSendOptionsRefused(t *testing.T) {
	_, err := dialTo(t, nettest.Free(t)).Send(t.Context(), letters{3, timestamppb.Now()},
		SendOptions{})
	if got, want := fault.Fields(err), []string{"InFlight", "GiveUp"}; !slices.Equal(got, want) {
		t.Errorf("faults of the fields %v (%v), want %v", got, err, want)
	}
}
