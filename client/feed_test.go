package client

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/fault"
)

// dripping gives n letters, a few at a time, each time after the ones before are settled or not, as
// pause says, and then nothing. It ends when all are settled.
type dripping struct {
	letters
	pause bool
	over  context.CancelFunc

	mu      sync.Mutex
	given   int
	results []pb.EventDisposition
	room    chan struct{}
}

func (d *dripping) Next(ctx context.Context, most int) (events []*pb.Event) {
	for ctx.Err() == nil {
		d.mu.Lock()
		waits := d.given == d.n || d.pause && len(d.results) < d.given
		for i := 0; !waits && i < min(3, most) && d.given < d.n; i++ {
			events = append(events, d.Event(d.given))
			d.given++
		}
		d.mu.Unlock()
		if len(events) > 0 {
			return events
		}
		select {
		case <-d.room:
		case <-ctx.Done():
		}
	}
	return nil
}

func (d *dripping) Settled(r *pb.EventResult) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.results = append(d.results, r.GetDisposition()); len(d.results) == d.n {
		d.over()
	}
	select {
	case d.room <- struct{}{}:
	default:
	}
}

// However the streams end, each event of a source is settled once, in order, with its result.
func TestFeed(t *testing.T) {
	t.Parallel()
	const n = 20
	for name, script := range map[string][]mood{
		"calm":                 nil,
		"breaks":               {{after: 5, code: codes.Unavailable}, {after: 3, code: codes.Internal}},
		"full":                 {{after: 4, code: codes.ResourceExhausted}, {after: 3, code: codes.DataLoss}},
		"lost":                 {{after: 6, lose: 3, code: codes.Unavailable}},
		"drains":               {{after: 4, code: codes.OK}},
		"hangs":                {{after: 4, hang: true, code: codes.Unavailable}},
		"no room, and rejects": {{after: 2, full: true}, {after: n + 1, reject: 1}},
	} {
		for _, pause := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				server := &moodyServer{script: slices.Clone(script), seen: map[string]bool{}}
				ctx, cancel := context.WithCancel(t.Context())
				d := &dripping{letters: letters{n, timestamppb.Now()}, pause: pause, over: cancel,
					room: make(chan struct{}, 1)}
				giveUp := time.Minute
				if name == "hangs" {
					giveUp = 300 * time.Millisecond
				}
				err := serve(t, server).Feed(ctx, d, SendOptions{InFlight: 8, GiveUp: giveUp})
				if !errors.Is(err, context.Canceled) || len(d.results) != n {
					t.Fatalf("error %v with %d events settled, want %d", err, len(d.results), n)
				}
				got := server.items()
				rejected := 0
				for _, r := range d.results {
					if r == pb.EventDisposition_EVENT_DISPOSITION_REJECTED {
						rejected++
					}
				}
				if len(got) != n-rejected || len(slices.Compact(slices.Sorted(
					slices.Values(got)))) != n-rejected {
					t.Errorf("applied %v, %d rejected", got, rejected)
				}
				if name != "no room, and rejects" && !slices.IsSorted(got) {
					t.Errorf("applied %v, want them in order", got)
				} else if name == "no room, and rejects" && rejected != 1 {
					t.Errorf("%d events are rejected, want 1", rejected)
				}
			})
		}
	}
}

// A quiet source is no silent server: an event that comes after a while has all the time to be
// acknowledged, and one that comes after a long while has a new stream.
func TestFeedIsQuiet(t *testing.T) {
	t.Parallel()
	const giveUp = 2 * time.Second
	server := &moodyServer{seen: map[string]bool{},
		script: []mood{{after: 99, slow: giveUp * 6 / 10}, {after: 99}}}
	ctx, cancel := context.WithCancel(t.Context())
	d := &dripping{letters: letters{3, timestamppb.Now()}, pause: true, over: cancel,
		room: make(chan struct{}, 1)}
	waits := []time.Duration{0, giveUp * 12 / 10, giveUp * 25 / 10}
	err := serve(t, server).Feed(ctx, &slowly{d, waits}, SendOptions{InFlight: 8, GiveUp: giveUp,
		Reconnecting: func(_ int, why error) { t.Errorf("reconnects: %v", why) }})
	if !errors.Is(err, context.Canceled) || len(server.items()) != 3 {
		t.Errorf("error %v, applied %v", err, server.items())
	}
}

// slowly waits so long before each event.
type slowly struct {
	*dripping
	waits []time.Duration
}

func (s *slowly) Next(ctx context.Context, _ int) []*pb.Event {
	if len(s.waits) > 0 {
		select {
		case <-time.After(s.waits[0]):
			s.waits = s.waits[1:]
		case <-ctx.Done():
			return nil
		}
	}
	return s.dripping.Next(ctx, 1)
}

// What a new connection cannot heal ends a feed.
func TestFeedEnds(t *testing.T) {
	for _, code := range []codes.Code{codes.Unauthenticated, codes.PermissionDenied,
		codes.InvalidArgument} {
		server := &moodyServer{script: []mood{{after: 2, code: code}}, seen: map[string]bool{}}
		d := &dripping{letters: letters{9, timestamppb.Now()}, over: func() {},
			room: make(chan struct{}, 1)}
		err := serve(t, server).Feed(t.Context(), d, SendOptions{InFlight: 4, GiveUp: time.Minute})
		if status.Code(err) != code || len(d.results) != 2 {
			t.Errorf("error %v after %d events, want %s after 2", err, len(d.results), code)
		}
	}
	err := serve(t, &moodyServer{}).Feed(t.Context(), nil, SendOptions{})
	if got, want := fault.Fields(err), []string{"InFlight", "GiveUp"}; !slices.Equal(got, want) {
		t.Errorf("faults of the fields %v (%v), want %v", got, err, want)
	}
}
