package server

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/arms"
	"github.com/gsimc/gsimc/server/internal/valid"
)

// give is a request for shares: names and percentages in turns.
func give(pairs ...any) *pb.SetTrafficRequest {
	req := &pb.SetTrafficRequest{}
	for i := 0; i < len(pairs); i += 2 {
		req.Shares = append(req.Shares, &pb.ArmShare{Arm: pairs[i].(string),
			SharePercent: proto.Float64(pairs[i+1].(float64))})
	}
	return req
}

// withTwoArms is a setup with an arm b for a fifth of the users, and an arm caller for a tenth.
func withTwoArms(t *testing.T) setup {
	return withArm(t, nil, 20, func(c *Config) {
		c.Arms = append(c.Arms, Arm{Name: "caller", Share: 10,
			Open: func() (*model.Model, error) { return newModel(t, 3), nil }})
	})
}

// armsOf counts the arms that users have, who are shown lists.
func (ts *testServer) armsOf(t *testing.T, users int) map[string]int {
	count := map[string]int{}
	for n := range users {
		req := forUser(fmt.Sprint("u", n))
		req.Attribute = true
		count[ts.ask(t, req).GetArm()]++
	}
	return count
}

// Arms have other shares at once, and what is counted of them begins anew.
func TestSetTraffic(t *testing.T) {
	const users = 400
	ts := start(t, withTwoArms(t))
	ts.armsOf(t, users)
	req := give("b", 60.)
	previous := give("main", 70., "b", 20., "caller", 10.).GetShares()
	mustSame(t, &pb.SetTrafficResponse{PreviousShares: previous},
		reply(t, ts.admin.SetTraffic, req), "the shares of before")
	models := reply(t, ts.admin.ListModels, &pb.ListModelsRequest{}).GetModels()
	for i, want := range []float64{30, 60, 10} {
		same(t, want, models[i].GetSharePercent(), "percent of arm %d", i)
		same(t, want, models[i].GetConfiguredSharePercent(), "given percent of arm %d", i)
		o := models[i].GetOutcome()
		same(t, [3]int64{}, [3]int64{o.GetUserCount(), o.GetListCount(), o.GetCallCount()},
			"users, lists and calls of arm %d", i)
	}
	count := ts.armsOf(t, users)
	if d := math.Abs(float64(count["b"]) - .6*users); d > 4*math.Sqrt(.24*users) {
		t.Errorf("b has %d of %d users, want 60 percent", count["b"], users)
	}
	counted := func() int64 {
		return reply(t, ts.admin.ListModels, &pb.ListModelsRequest{}).GetModels()[1].GetOutcome().
			GetUserCount()
	}
	same(t, int64(count["b"]), counted(), "users of b")

	again := reply(t, ts.admin.SetTraffic, req)
	same(t, 60.0, again.GetPreviousShares()[1].GetSharePercent(), "percent of b before a repetition")
	same(t, int64(count["b"]), counted(), "users of b after a repetition")
	const line = `"before":{"main":70,"b":20,"caller":10},"after":{"main":30,"b":60,"caller":10}`
	if n := strings.Count(ts.logs.String(), "audit: arms have other shares"); n != 1 ||
		!strings.Contains(ts.logs.String(), line) {
		t.Errorf("%d lines of the log tell of other shares, want one with %s:\n%s", n, line,
			ts.logs)
	}
}

// Shares that cannot be are refused, and change nothing.
func TestSetTrafficRefuses(t *testing.T) {
	ts := start(t, withTwoArms(t))
	for name, tt := range map[string]struct {
		req   *pb.SetTrafficRequest
		field string
	}{
		"nothing":       {give(), "shares"},
		"unknown arm":   {give("b", 1., "c", 1.), "shares[1].arm"},
		"main":          {give("main", 50.), "shares[0].arm"},
		"twice":         {give("b", 1., "caller", 1., "b", 1.), "shares[2].arm"},
		"negative":      {give("b", -1.), "shares[0].share_percent"},
		"not a number":  {give("b", math.NaN()), "shares[0].share_percent"},
		"above 100":     {give("b", 100.5), "shares[0].share_percent"},
		"no share":      {&pb.SetTrafficRequest{Shares: []*pb.ArmShare{{Arm: "b"}}}, "shares[0].share_percent"},
		"above 100 all": {give("b", 90.5), "shares"},
	} {
		_, err := ts.admin.SetTraffic(ctx(t), tt.req)
		if p := problemOf(t, err); p.Code != codes.InvalidArgument || len(p.Fields) != 1 ||
			p.Fields[0] != tt.field {
			t.Errorf("%s: %v, want a fault of %s", name, err, tt.field)
		}
	}
	got := reply(t, ts.admin.ListModels, &pb.ListModelsRequest{}).GetModels()
	same(t, 20.0, got[1].GetSharePercent(), "percent of b")
	reply(t, ts.admin.SetTraffic, give("b", 90.)) // all users
	same(t, arms.MaxArms, valid.Limits["gsimc.v1.SetTrafficRequest.shares"], "most shares of a call")
	alone := start(t, setup{})
	_, err := alone.admin.SetTraffic(ctx(t), give("b", 1.))
	if p := problemOf(t, err); p.Code != codes.InvalidArgument ||
		!strings.Contains(err.Error(), "this server has none") {
		t.Errorf("a server with one arm: %v", err)
	}
}
