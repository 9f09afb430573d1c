package server

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/again"
	"github.com/gsimc/gsimc/server/internal/passes"
	"github.com/gsimc/gsimc/server/internal/recommend"
)

func userSubject(user string) *pb.BatchSubject {
	return &pb.BatchSubject{Subject: &pb.BatchSubject_UserId{UserId: user}}
}

// startStill is start with a clock that stands still and a user with some events.
func startStill(t testing.TB, open opened) *testServer {
	t.Helper()
	ts := start(t, setup{
		open:   open,
		config: func(c *Config) { c.Now = func() time.Time { return testNow } },
	})
	for i := range 6 {
		e := newEvent("ann", 4*i)
		e.EventId = item(i)
		ts.observe(t, e)
	}
	return ts
}

// Each result of a batch is what Recommend answers to the subject by itself, errors included.
func TestBatchIsManyRecommends(t *testing.T) {
	for name, open := range map[string]opened{
		"paper": named(t, "paper"), "learned": named(t, "learned"),
		"coming back": func() (*model.Model, error) {
			return comingBack(t, again.Spec{Decay: 1, Recency: 0.1, Newest: 0.1}), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			ts := startStill(t, open)
			rng := rand.New(rand.NewPCG(4, 1))
			for range 25 {
				checkBatch(t, ts, randomBatch(rng))
			}
		})
	}
}

// randomBatch draws a batch with subjects of all kinds, good and bad.
func randomBatch(rng *rand.Rand) *pb.BatchRecommendRequest {
	req := &pb.BatchRecommendRequest{PageSize: int32(rng.IntN(2 * testItems)),
		Packed: rng.IntN(2) == 0}
	if mode := pb.SeenPolicy_Mode(rng.IntN(6)); mode >= pb.SeenPolicy_MODE_INCLUDE {
		req.Seen = &pb.SeenPolicy{Mode: min(mode, pb.SeenPolicy_MODE_ONLY)}
	}
	ids := func() (ids []string) {
		for range rng.IntN(testItems) {
			ids = append(ids, item(rng.IntN(testItems+2)))
		}
		return ids
	}
	if rng.IntN(3) > 0 {
		req.Filter = &pb.ItemFilter{AllowItemIds: ids(), DenyItemIds: ids()}
	}
	for range 1 + rng.IntN(3*passes.MaxCalls) {
		s := userSubject([]string{"ann", "nobody", ""}[rng.IntN(3)])
		switch rng.IntN(4) {
		case 0:
			h := forHistory(rng.Perm(testItems + 2)[:rng.IntN(5)]...).GetHistory()
			s.Subject = &pb.BatchSubject_History{History: h}
		case 1:
			s.MinUserRevision = uint64(rng.IntN(10))
		case 2:
			if rng.IntN(4) == 0 {
				s = &pb.BatchSubject{}
			}
		}
		req.Subjects = append(req.Subjects, s)
	}
	return req
}

// checkBatch compares a batch with single calls.
func checkBatch(t *testing.T, ts *testServer, req *pb.BatchRecommendRequest) {
	t.Helper()
	got := reply(t, ts.recommend.BatchRecommend, req)
	want := &pb.BatchRecommendResponse{}
	m := newModel(t, 1)
	unknown := map[string]bool{}
	for _, id := range req.GetFilter().GetAllowItemIds() {
		if _, known := m.ItemIndex(id); !known && !unknown[id] {
			unknown[id] = true
			want.UnknownItemIds = append(want.UnknownItemIds, id)
		}
	}
	for _, s := range req.GetSubjects() {
		list := recommend.ListOf(req, s)
		list.Filter = req.GetFilter()
		r, err := ts.recommend.Recommend(ctx(t), list)
		result := &pb.BatchRecommendResult{Result: &pb.BatchRecommendResult_Response{Response: r}}
		if err != nil {
			result.Result = &pb.BatchRecommendResult_Error{Error: status.Convert(err).Proto()}
		} else {
			r.UnknownItemIds = unknownOf(m, list.GetHistory())
		}
		want.Results = append(want.Results, result)
	}
	mustSame(t, want, got, "%v (-single calls +batch)", req)
}

// unknownOf returns the ids of a history that m does not know, each once.
func unknownOf(m *model.Model, h *pb.InlineHistory) (ids []string) {
	met := map[string]bool{}
	for _, e := range h.GetEntries() {
		if _, known := m.ItemIndex(e.GetItemId()); !known && !met[e.GetItemId()] {
			met[e.GetItemId()] = true
			ids = append(ids, e.GetItemId())
		}
	}
	return ids
}

// reasonsOf counts the results by the reason of their error; those with a list have none.
func reasonsOf(t *testing.T, resp *pb.BatchRecommendResponse) map[string]int {
	t.Helper()
	reasons := map[string]int{}
	for _, r := range resp.GetResults() {
		reason := ""
		for _, d := range r.GetError().GetDetails() {
			info := &errdetails.ErrorInfo{}
			if d.UnmarshalTo(info) == nil {
				reason = info.GetReason()
			}
		}
		reasons[reason]++
	}
	return reasons
}

// A batch whose lists do not fit into one message is answered as far as they do, and never more
// than that. The lists that are missing come with another call.
func TestBatchKeepsToTheMessage(t *testing.T) {
	for _, most := range []int{20_000, 30_000, 40_000} {
		ts := start(t, setup{config: func(c *Config) { c.MaxSendBytes = most }})
		req := &pb.BatchRecommendRequest{PageSize: testItems}
		for range 200 {
			req.Subjects = append(req.Subjects, userSubject("nobody"))
		}
		resp, err := ts.recommend.BatchRecommend(ctx(t), req)
		if most == 20_000 { // not even the errors
			want := problem{Code: codes.ResourceExhausted, Reason: "ANSWER_TOO_LARGE"}
			same(t, want, problemOf(t, err), "the answer")
			continue
		}
		must(t, err)
		reasons := reasonsOf(t, resp)
		if n := proto.Size(resp); n > most || n < most-2000 {
			t.Errorf("%d bytes, want nearly %d", n, most)
		}
		if reasons[""] == 0 || reasons[""]+reasons["ANSWER_TOO_LARGE"] != 200 {
			t.Errorf("%v, want some lists and the error for the others", reasons)
		}
	}
}

// hurried is a context whose deadline is as near as can be, and never comes.
type hurried struct{ context.Context }

// Deadline implements [context.Context].
func (hurried) Deadline() (time.Time, bool) { return time.Now().Add(recommend.TimeToAnswer), true }

// A batch that does not fit into its deadline is answered as far as it does.
func TestBatchKeepsToTheDeadline(t *testing.T) {
	ts := start(t, setup{})
	req := &pb.BatchRecommendRequest{}
	for range 3 * passes.MaxCalls {
		req.Subjects = append(req.Subjects, userSubject("nobody"))
	}
	resp := check.Get(ts.services.recommend.BatchRecommend(hurried{ctx(t)}, req))(t)
	want := map[string]int{"": passes.MaxCalls, "DEADLINE_EXCEEDED": 2 * passes.MaxCalls}
	same(t, want, reasonsOf(t, resp), "results by reason")
	ended, cancel := context.WithCancel(ctx(t))
	cancel()
	if _, err := ts.services.recommend.BatchRecommend(ended, req); err == nil {
		t.Error("a batch that nobody waits for is answered")
	}
}

// The rules that hold for a batch as a whole.
func TestValidateBatchRecommend(t *testing.T) {
	ts := start(t, setup{})
	entries := func(histories, each int) *pb.BatchRecommendRequest {
		req := &pb.BatchRecommendRequest{PageSize: 1}
		for range histories {
			h := forHistory(make([]int, each)...).GetHistory()
			req.Subjects = append(req.Subjects,
				&pb.BatchSubject{Subject: &pb.BatchSubject_History{History: h}})
		}
		return req
	}
	sized := func(n int, size int32) *pb.BatchRecommendRequest {
		req := entries(n, 1)
		req.PageSize = size
		return req
	}
	for _, tt := range []struct {
		name string
		req  *pb.BatchRecommendRequest
		want []string
	}{
		{"none", &pb.BatchRecommendRequest{}, []string{"subjects"}},
		{"1000", entries(1000, 1), nil},
		{"10,000 entries", entries(10, 1000), nil},
		{"10,001 entries", entries(73, 137), []string{"subjects.history.entries"}},
		{"100,000 items", sized(100, 1000), nil},
		{"100,000 items, the page cut", sized(100, 2000), nil},
		{"too many items", sized(101, 1000), []string{"page_size"}},
		{"a bad filter", &pb.BatchRecommendRequest{Subjects: entries(1, 1).GetSubjects(),
			Filter: &pb.ItemFilter{DenyItemIds: []string{""}}},
			[]string{"filter.deny_item_ids[0]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ts.recommend.BatchRecommend(ctx(t), tt.req)
			checkFields(t, err, tt.want)
		})
	}
}
