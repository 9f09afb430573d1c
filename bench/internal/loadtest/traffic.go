package loadtest

import (
	"bytes"
	crand "crypto/rand"
	"math/rand/v2"
	"strconv"

	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// Streams of random numbers, which must differ for one seed.
const (
	scheduleStream = iota + 1
	trafficStream
	listStream
	historyStream
	itemStream
)

// Popularity follows a Zipf–Mandelbrot law, for users and for items: the share of the r-th is
// proportional to (r + zipfShift)^−zipfExponent. Without the shift, the first would have a tenth of
// everything; with it, the first of 10,000 has 2 %.
const (
	zipfExponent = 1.1
	zipfShift    = 10
)

func newZipf(rng *rand.Rand, n int) *rand.Zipf {
	return rand.NewZipf(rng, zipfExponent, zipfShift, uint64(n-1))
}

// Traffic describes the requests.
type Traffic struct {
	Items []string // ids of the catalogue, the most popular first
	Users int      // users, of ids [UserID] of 0 and up, the most active first

	Page    int  // length of the lists
	History int  // events of the inline history that a Recommend carries; 0: it names a user
	Allow   int  // ids of allow_item_ids
	Deny    int  // ids of deny_item_ids
	Packed  bool // ask for the lists as arrays

	Observe float64 // share of unary Observe
	Stream  float64 // share of streamed events; the rest is Recommend
	Seed    uint64
}

// UserID is the id of user u: bench- and seven digits or more.
func UserID(u int) string { return string(appendUserID(nil, u)) }

func appendUserID(b []byte, u int) []byte {
	b = append(b, "bench-"...)
	for limit := 1_000_000; limit > max(u, 1); limit /= 10 {
		b = append(b, '0')
	}
	return strconv.AppendInt(b, int64(u), 10)
}

// lists is the number of different inline histories and filters that requests draw from.
const lists = 64

// Source makes the requests of one client. It is not safe for concurrent use.
type Source struct {
	t                 *Traffic
	rng               *rand.Rand
	user, item        *rand.Zipf
	histories         [][]byte // encoded RecommendRequests with an inline history only
	preferences       [][]byte // encoded RecommendRequests with all but the subject
	name              string   // of this source, before the number of an event
	events            uint64   // so far
	event, id, userID []byte   // scratch
}

// Source returns the requests of a client. Another number gives other requests.
func (t *Traffic) Source(client int) *Source {
	rng := rand.New(rand.NewPCG(t.Seed+uint64(client)<<32, trafficStream))
	s := &Source{
		t: t, rng: rng, user: newZipf(rng, t.Users), item: newZipf(rng, len(t.Items)),
		// no seed: an event that was sent before would be a duplicate
		name: crand.Text()[:10] + "-",
	}
	s.encodeLists()
	return s
}

// encodeLists encodes the parts that requests share. A message may be encoded in parts: protobuf
// joins them.
func (s *Source) encodeLists() {
	rng := rand.New(rand.NewPCG(s.t.Seed, listStream))
	different := 1
	if s.t.Allow+s.t.Deny > 0 {
		different = lists
	}
	for range different {
		r := &pb.RecommendRequest{PageSize: int32(s.t.Page), Packed: s.t.Packed}
		if s.t.Allow+s.t.Deny > 0 {
			r.Filter = &pb.ItemFilter{AllowItemIds: s.t.pick(rng, s.t.Allow),
				DenyItemIds: s.t.pick(rng, s.t.Deny)}
		}
		s.preferences = append(s.preferences, encode(r))
	}
	if s.t.History == 0 {
		return
	}
	item := newZipf(rng, len(s.t.Items))
	for range lists {
		h := &pb.InlineHistory{}
		for range s.t.History {
			h.Entries = append(h.Entries, &pb.HistoryEntry{ItemId: s.t.Items[item.Uint64()]})
		}
		s.histories = append(s.histories,
			encode(&pb.RecommendRequest{Subject: &pb.RecommendRequest_History{History: h}}))
	}
}

// pick draws n ids, uniformly.
func (t *Traffic) pick(rng *rand.Rand, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = t.Items[rng.IntN(len(t.Items))]
	}
	return ids
}

// Next draws a request.
func (s *Source) Next() Request {
	switch x := s.rng.Float64(); {
	case x < s.t.Observe:
		return Request{Observe, s.observe()}
	case x < s.t.Observe+s.t.Stream:
		return Request{Stream, s.Event()}
	}
	return Request{Recommend, s.recommend()}
}

// Event draws an event in its encoded form. It is encoded by hand, since client and server share
// the processors.
func (s *Source) Event() []byte {
	s.events++
	s.id = strconv.AppendUint(append(s.id[:0], s.name...), s.events, 36)
	s.userID = appendUserID(s.userID[:0], s.User())
	b := appendEvent(s.event[:0], s.id, s.userID, s.t.Items[s.item.Uint64()])
	s.event = b
	return bytes.Clone(b)
}

// User draws a user.
func (s *Source) User() int { return int(s.user.Uint64()) }

func (s *Source) observe() []byte {
	return appendField(nil, observeEvent, s.Event())
}

func (s *Source) recommend() []byte {
	preferences := s.preferences[s.rng.IntN(len(s.preferences))]
	if s.t.History > 0 {
		return join(s.histories[s.rng.IntN(len(s.histories))], preferences)
	}
	return join(
		encode(
			&pb.RecommendRequest{Subject: &pb.RecommendRequest_UserId{UserId: UserID(s.User())}}),
		preferences)
}

func join(a, b []byte) []byte { return append(append(make([]byte, 0, len(a)+len(b)), a...), b...) }

func encode(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err) // only a string that is not UTF-8 cannot be encoded
	}
	return b
}
