package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/nettest"
)

// ringServer answers with its name, and remembers whom it was asked about.
type ringServer struct {
	pb.UnimplementedRecommenderServiceServer
	pb.UnimplementedEventServiceServer
	name string
	slow atomic.Bool // takes 100 ms

	events atomic.Int32

	mu    sync.Mutex
	users map[string]int
}

func (s *ringServer) asked(ctx context.Context, user string) error {
	s.mu.Lock()
	s.users[user]++
	s.mu.Unlock()
	if md, _ := metadata.FromIncomingContext(ctx); len(md.Get(routeHeader)) != 1 {
		return errors.New("the call has no place on the ring")
	}
	if s.slow.Load() {
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	return ctx.Err()
}

func (s *ringServer) Recommend(
	ctx context.Context, req *pb.RecommendRequest,
) (*pb.RecommendResponse, error) {
	return &pb.RecommendResponse{ModelVersion: s.name}, s.asked(ctx, req.GetUserId())
}

func (s *ringServer) Observe(
	ctx context.Context, req *pb.ObserveRequest,
) (*pb.ObserveResponse, error) {
	s.events.Add(1)
	return &pb.ObserveResponse{}, s.asked(ctx, req.GetEvent().GetUserId())
}

func (s *ringServer) count() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, times := range s.users {
		n += times
	}
	return n
}

// startRing starts servers and a client of all of them.
func startRing(t *testing.T, n int, h Hedge) (*Ring, map[string]*ringServer, map[string]func()) {
	t.Helper()
	servers, stops := make(map[string]*ringServer), make(map[string]func())
	opt := RingOptions{Timeout: 20 * time.Second, Hedge: h}
	for range n {
		s := &ringServer{users: make(map[string]int)}
		name, stop := nettest.Serve(t, func(g *grpc.Server) {
			pb.RegisterRecommenderServiceServer(g, s)
			pb.RegisterEventServiceServer(g, s)
		})
		s.name, servers[name], stops[name] = name, s, stop
		opt.Addresses = append(opt.Addresses, name)
	}
	r := check.Get(DialRing(opt))(t)
	t.Cleanup(func() { r.Close() }) //nolint:errcheck // the test is over
	return r, servers, stops
}

// recommend returns the name of the server that answered.
func recommend(t *testing.T, r *Ring, user string) string {
	t.Helper()
	list, err := pb.NewRecommenderServiceClient(r.Conn()).Recommend(t.Context(),
		&pb.RecommendRequest{Subject: &pb.RecommendRequest_UserId{UserId: user}})
	if err != nil {
		t.Fatalf("Recommend for %s: %v", user, err)
	}
	return list.GetModelVersion()
}

// All calls about a user go to one server; without it they go to another, and no call fails.
func TestRing(t *testing.T) {
	r, servers, stops := startRing(t, 3, Hedge{})
	const users = 60
	home := make(map[string]string)
	for i := range 3 * users {
		user := fmt.Sprint("user ", i%users)
		at := recommend(t, r, user)
		if was, ok := home[user]; ok && was != at {
			t.Errorf("%s went to %s and to %s", user, was, at)
		}
		home[user] = at
		check.Get(pb.NewEventServiceClient(r.Conn()).Observe(t.Context(),
			&pb.ObserveRequest{Event: &pb.Event{UserId: user}}))(t)
	}
	for name, s := range servers {
		if n := s.count(); n != 6*len(s.users) || len(s.users) < users/10 {
			t.Errorf("%s had %d calls about %d users", name, n, len(s.users))
		}
	}
	gone := home["user 0"]
	stops[gone]()
	for user, was := range home {
		at := recommend(t, r, user)
		if at == gone || was != gone && was != at {
			t.Errorf("%s went from %s to %s while %s is away", user, was, at, gone)
		}
	}
}

// A call whose server is slow is answered by another one, and an event is never sent twice.
func TestRingHedges(t *testing.T) {
	r, servers, _ := startRing(t, 2, Hedge{Quantile: 0.95, Budget: 1})
	var slow string
	var users []string // whose home is the slow one
	for i := range 50 {
		user := fmt.Sprint("user ", i)
		home := recommend(t, r, user)
		if slow == "" {
			slow = home
		}
		if home == slow {
			users = append(users, user)
		}
	}
	servers[slow].slow.Store(true)
	elsewhere := 0
	for _, user := range users {
		if recommend(t, r, user) != slow {
			elsewhere++ // the second place of a user may be at the same server
		}
	}
	if elsewhere == 0 {
		t.Errorf("the lists of all %d users came from the slow server", len(users))
	}
	for _, user := range users[:3] {
		check.Get(pb.NewEventServiceClient(r.Conn()).Observe(t.Context(),
			&pb.ObserveRequest{Event: &pb.Event{UserId: user}}))(t)
	}
	for name, s := range servers {
		if n := s.events.Load(); n != 0 && name != slow || n != 3 && name == slow {
			t.Errorf("%s got %d events", name, n)
		}
	}
}

// The second attempt begins after the quantile of the latencies, not more often than the budget
// allows, the first answer counts, and an error counts when there is no other attempt.
func TestHedger(t *testing.T) {
	const method = pb.RecommenderService_Recommend_FullMethodName
	synctest.Test(t, func(t *testing.T) {
		h := check.Get(newHedger(Hedge{Quantile: 0.5, Budget: 0.5}))(t)
		call := func(takes ...time.Duration) (attempts int, took time.Duration, who string) {
			t.Helper()
			began := time.Now()
			var started atomic.Int32
			var reply pb.RecommendResponse
			err := h.call(t.Context(), method, &reply,
				func(ctx context.Context, number uint64, reply any) error {
					started.Add(1)
					select {
					case <-ctx.Done():
						return ctx.Err()
					case <-time.After(takes[number]):
					}
					if takes[number] == 0 {
						return errors.New("no")
					}
					proto.Merge(reply.(proto.Message),
						&pb.RecommendResponse{ModelVersion: fmt.Sprint(number)})
					return nil
				})
			synctest.Wait()
			if err != nil {
				return int(started.Load()), time.Since(began), err.Error()
			}
			return int(started.Load()), time.Since(began), reply.GetModelVersion()
		}
		for range hedgeLeast {
			if n, _, _ := call(10 * time.Millisecond); n != 1 {
				t.Fatalf("%d attempts before there were latencies", n)
			}
		}
		for _, tt := range []struct {
			name     string
			takes    []time.Duration
			attempts int
			took     time.Duration
			who      string
		}{
			{"in time", []time.Duration{9 * time.Millisecond}, 1, 9 * time.Millisecond, "0"},
			{"late", []time.Duration{time.Hour, 5 * time.Millisecond}, 2, 15 * time.Millisecond, "1"},
			{"first after all", []time.Duration{12 * time.Millisecond, time.Hour}, 2,
				12 * time.Millisecond, "0"},
			{"second fails", []time.Duration{20 * time.Millisecond, 0}, 2, 20 * time.Millisecond, "0"},
			{"fails", []time.Duration{0}, 1, 0, "no"},
		} {
			if n, took, who := call(tt.takes...); n != tt.attempts || took != tt.took || who != tt.who {
				t.Errorf("%s: %d attempts, %v, answer %s; want %d, %v, %s",
					tt.name, n, took, who, tt.attempts, tt.took, tt.who)
			}
		}
		hedged := 0
		for range 4 * hedgeBurst {
			n, _, _ := call(11*time.Millisecond, time.Hour)
			hedged += n - 1
		}
		if want := 3*hedgeBurst - 2; hedged < want-3 || hedged > want+1 {
			t.Errorf("%d of %d calls were hedged with a budget of a half, want %d",
				hedged, 4*hedgeBurst, want)
		}
	})
}

func TestRingOptions(t *testing.T) {
	addresses := []string{"127.0.0.1:1"}
	for _, tt := range []struct {
		field string
		opt   RingOptions
	}{
		{"Addresses", RingOptions{}},
		{"Addresses", RingOptions{Addresses: []string{"dns:///gsimc:1", "127.0.0.1:1"}}},
		{"Token", RingOptions{Addresses: []string{"dns:///localhost:1"},
			Access: Access{Token: "t"}}},
		{"Quantile", RingOptions{Addresses: addresses, Hedge: Hedge{Quantile: 1, Budget: 1}}},
		{"Budget", RingOptions{Addresses: addresses, Hedge: Hedge{Quantile: 0.9}}},
		{"Token", RingOptions{Addresses: []string{"127.0.0.1:1", "10.1.1.1:1"},
			Access: Access{Token: "t"}}},
		{"First", RingOptions{Addresses: addresses, Retry: Retry{Attempts: 2}}},
	} {
		_, err := DialRing(tt.opt)
		if f := new(fault.Fault); !errors.As(err, &f) || f.Field != tt.field {
			t.Errorf("%v, want a fault of %s", err, tt.field)
		}
	}
}
