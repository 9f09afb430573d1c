package loadtest

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
)

func testTraffic() Traffic {
	t := Traffic{Users: 50, Page: 7, Observe: 0.2, Stream: 0.3, Seed: 5}
	for i := range 40 {
		t.Items = append(t.Items, fmt.Sprintf("item-%02d", i))
	}
	return t
}

func decode[M proto.Message](t *testing.T, body []byte, m M) M {
	t.Helper()
	check.Must(t, proto.Unmarshal(body, m))
	return m
}

func TestTrafficShares(t *testing.T) {
	const n = 20_000
	traffic := testTraffic()
	var count [numKinds]float64
	ids := map[string]bool{}
	for client := range 2 {
		source := traffic.Source(client)
		for range n / 2 {
			r := source.Next()
			count[r.Kind]++
			switch r.Kind {
			case Recommend:
				m := decode(t, r.Body, &pb.RecommendRequest{})
				if m.GetUserId() == "" || m.GetPageSize() != 7 || m.GetFilter() != nil {
					t.Fatalf("request %v, want a user, 7 items and no filter", m)
				}
			case Observe:
				ids[decode(t, r.Body, &pb.ObserveRequest{}).GetEvent().GetEventId()] = true
			case Stream:
				ids[decode(t, r.Body, &pb.Event{}).GetEventId()] = true
			}
		}
	}
	for kind, want := range []float64{0.5, 0.2, 0.3} {
		if got := count[kind] / n; math.Abs(got-want) > 0.02 {
			t.Errorf("share of %s is %v, want %v", Kind(kind), got, want)
		}
	}
	check.Same(t, count[Observe]+count[Stream], float64(len(ids)), "different ids of events")
}

func TestTrafficLists(t *testing.T) {
	traffic := testTraffic()
	traffic.Observe, traffic.Stream, traffic.History = 0, 0, 9
	traffic.Allow, traffic.Deny, traffic.Packed = 11, 13, true
	source := traffic.Source(1)
	for range 100 {
		m := decode(t, source.Next().Body, &pb.RecommendRequest{})
		if h, f := m.GetHistory().GetEntries(), m.GetFilter(); len(h) != 9 ||
			len(f.GetAllowItemIds()) != 11 || len(f.GetDenyItemIds()) != 13 || !m.GetPacked() {
			t.Fatalf("packed %v, %d entries, %d allowed, %d denied, want packed, 9, 11, 13",
				m.GetPacked(), len(h), len(f.GetAllowItemIds()), len(f.GetDenyItemIds()))
		}
	}
}

// Users and items are drawn by rank: the shares of the first ones are those of the law.
func TestPopularity(t *testing.T) {
	const n = 100_000
	traffic := Traffic{Users: 1000, Items: make([]string, 3), Seed: 1}
	source := traffic.Source(0)
	counts := make([]float64, traffic.Users)
	for range n {
		counts[source.User()]++
	}
	sum := 0.0
	for r := range traffic.Users {
		sum += math.Pow(float64(r+zipfShift), -zipfExponent)
	}
	for _, r := range []int{0, 10, 100} {
		want := n * math.Pow(float64(r+zipfShift), -zipfExponent) / sum
		if math.Abs(counts[r]-want) > 5*math.Sqrt(want) {
			t.Errorf("user %d was drawn %v times, want about %.0f", r, counts[r], want)
		}
	}
}

func TestUserID(t *testing.T) {
	for _, u := range []int{0, 1, 9, 10, 99, 123, 99_999, 999_999, 1_000_000, 9_999_999,
		12_345_678} {
		if got, want := UserID(u), fmt.Sprintf("bench-%07d", u); got != want {
			t.Errorf("user %d is %q, want %q", u, got, want)
		}
	}
}

func TestEncodingOfEvents(t *testing.T) {
	traffic := testTraffic()
	s := traffic.Source(0)
	check := func(e *pb.Event) {
		t.Helper()
		if e.GetEventId() == "" || !strings.HasPrefix(e.GetUserId(), "bench-") ||
			!strings.HasPrefix(e.GetItemId(), "item-") {
			t.Fatalf("got %v", e)
		}
	}
	for range 100 {
		body := s.Event()
		e := decode(t, body, &pb.Event{})
		check(e)
		if !bytes.Equal(body, encode(e)) {
			t.Fatalf("%v is not encoded as the library does", e)
		}
		check(decode(t, s.observe(), &pb.ObserveRequest{}).GetEvent())
	}
}
