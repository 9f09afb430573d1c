package server

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

func (ts *testServer) spectrum(t *testing.T, req *pb.GetSpectrumRequest) *pb.GetSpectrumResponse {
	t.Helper()
	return reply(t, ts.recommend.GetSpectrum, req)
}

func spectrumOf(user string) *pb.GetSpectrumRequest {
	return &pb.GetSpectrumRequest{Subject: &pb.GetSpectrumRequest_UserId{UserId: user}}
}

// A history has the same spectrum stored, in the request, and half of it each.
func TestGetSpectrum(t *testing.T) {
	ts := startNamed(t, "learned")
	history := func(items ...int) *pb.InlineHistory {
		return forHistory(items...).GetHistory()
	}
	inline := ts.spectrum(t, &pb.GetSpectrumRequest{
		Subject: &pb.GetSpectrumRequest_History{History: history(4, 9, 20)}})
	for _, shares := range [][]float64{inline.GetBefore(), inline.GetAfter()} {
		sum := 0.0
		for _, x := range shares {
			sum += x
		}
		if len(shares) != testRank || math.Abs(sum-1) > 1e-9 || slices.Min(shares) < 0 {
			t.Errorf("shares %v", shares)
		}
	}
	if f := inline.GetFrequencies(); len(f) != testRank || !slices.IsSorted(f) {
		t.Errorf("frequencies %v", f)
	}
	if slices.Equal(inline.GetBefore(), inline.GetAfter()) {
		t.Error("the dynamics change nothing")
	}
	for _, i := range []int{4, 9} {
		ts.observe(t, newEvent("ann", i))
	}
	more := spectrumOf("ann")
	more.ExtraHistory = history(20)
	extra := ts.spectrum(t, more)
	ts.observe(t, newEvent("ann", 20))
	stored := ts.spectrum(t, spectrumOf("ann"))
	same(t, uint64(3), stored.GetUserRevision(), "revision")
	same(t, uint64(2), extra.GetUserRevision(), "revision before the extra history")
	for what, r := range map[string]*pb.GetSpectrumResponse{"stored": stored, "extra": extra} {
		if d := cmp.Diff(inline, r, protocmp.Transform(), approximately,
			protocmp.IgnoreFields(r, "user_revision")); d != "" {
			t.Errorf("%s (-inline +%[1]s):\n%s", what, d)
		}
	}
}

// Without usable history there is no spectrum, and the answer says why.
func TestGetSpectrumOfNothing(t *testing.T) {
	ts := start(t, setup{})
	ts.observe(t, &pb.Event{UserId: "odd", ItemId: "nowhere"})
	for user, want := range map[string]pb.Degradation{
		"nobody": pb.Degradation_DEGRADATION_UNKNOWN_USER,
		"odd":    pb.Degradation_DEGRADATION_NO_USABLE_HISTORY,
	} {
		r := ts.spectrum(t, spectrumOf(user))
		if len(r.GetBefore())+len(r.GetAfter())+len(r.GetFrequencies()) > 0 ||
			!slices.Equal(r.GetDegradations(), []pb.Degradation{want}) {
			t.Errorf("%s: %v, want %v alone", user, r, want)
		}
	}
	r := ts.spectrum(t, &pb.GetSpectrumRequest{Subject: &pb.GetSpectrumRequest_History{
		History: &pb.InlineHistory{Entries: []*pb.HistoryEntry{{ItemId: "nowhere"}}}}})
	if !slices.Equal(r.GetUnknownItemIds(), []string{"nowhere"}) || len(r.GetBefore()) > 0 {
		t.Errorf("an unknown item: %v", r)
	}
}
