package server

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/certtest"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/issuertest"
	"github.com/gsimc/gsimc/server/internal/calls"
	"github.com/gsimc/gsimc/server/internal/doors"
)

// boundTo starts a server whose tokens an issuer signs, and returns what signs one of a user.
func boundTo(t *testing.T, config func(*Config), options string) (
	ts *testServer, sign func(user string, ends time.Duration) string,
) {
	t.Helper()
	i := issuertest.New(t)
	path := certtest.Write(t, t.TempDir(), "tokens", []byte(
		"web recommend,observe,user jwt "+i.URL+" gsimc user=sub"+options+"\n"))
	ts = start(t, setup{config: func(c *Config) {
		c.TokenFile = path
		if config != nil {
			config(c)
		}
	}})
	sign = func(user string, ends time.Duration) string {
		return i.Sign(t, map[string]any{"iss": i.URL, "aud": "gsimc", "sub": user,
			"exp": time.Now().Add(ends).Unix()})
	}
	ready := bearing(ctx(t), sign("ready", time.Hour))
	check.Await(t, "the keys of the issuer are read", func() bool {
		_, err := ts.recommend.Recommend(ready, forUser("ready"))
		if err != nil {
			same(t, problem{Code: codes.Unavailable, Reason: "ISSUER_KEYS",
				Retry: true}, problemOf(t, err),
				"before the keys are read")
		}
		return err == nil
	})
	return ts, sign
}

// A token that is bound to a user acts for that user only, by every method, whatever its roles.
func TestTokensBoundToAUser(t *testing.T) {
	ts, sign := boundTo(t, nil, "")
	c := bearing(ctx(t), sign("ann", time.Hour))
	event := func(user string) *pb.Event { return &pb.Event{UserId: user, ItemId: "i0"} }
	for name, call := range map[string]func(user string) error{
		"Recommend": func(u string) error { return check.Err(ts.recommend.Recommend(c, forUser(u))) },
		"RecommendPage": func(u string) error {
			return check.Err(ts.recommend.RecommendPage(c, &pb.RecommendPageRequest{
				Subject: &pb.RecommendPageRequest_UserId{UserId: u},
				Rows:    []*pb.PageRow{{}}}))
		},
		"GetSpectrum": func(u string) error {
			return check.Err(ts.recommend.GetSpectrum(c, &pb.GetSpectrumRequest{
				Subject: &pb.GetSpectrumRequest_UserId{UserId: u}}))
		},
		"ListUserEvents": func(u string) error {
			return check.Err(ts.users.ListUserEvents(c, &pb.ListUserEventsRequest{UserId: u}))
		},
		"RetractEvents": func(u string) error {
			return check.Err(ts.users.RetractEvents(c, &pb.RetractEventsRequest{UserId: u,
				EventIds: []string{"e"}}))
		},
		"ScoreItems": func(u string) error {
			return check.Err(ts.recommend.ScoreItems(c, &pb.ScoreItemsRequest{
				Subject: &pb.ScoreItemsRequest_UserId{UserId: u}, ItemIds: []string{"i0"}}))
		},
		"Observe": func(u string) error {
			return check.Err(ts.events.Observe(c, &pb.ObserveRequest{Event: event(u)}))
		},
		"GetUser": func(u string) error {
			return check.Err(ts.users.GetUser(c, &pb.GetUserRequest{UserId: u}))
		},
		"ExportUser": func(u string) error {
			stream, err := ts.users.ExportUser(c, &pb.ExportUserRequest{UserId: u})
			must(t, err)
			return check.Err(stream.Recv())
		},
		"DeleteUser": func(u string) error {
			return check.Err(ts.users.DeleteUser(c, &pb.DeleteUserRequest{UserId: u,
				AllowMissing: true}))
		},
	} {
		other := problem{Code: codes.PermissionDenied, Reason: "OTHER_USER"}
		same(t, other, problemOf(t, call("bob")), "%s of another user", name)
		if err := call("ann"); err != nil && problemOf(t, err).Code != codes.NotFound {
			t.Errorf("%s of the user: %v", name, err)
		}
	}
	// What names no user, or several, or is about the whole server.
	may := []string{"Recommend", "RecommendPage", "ScoreItems", "SimilarItems", "GetSpectrum",
		"Observe", "GetUser", "ListUserEvents", "ExportUser", "RetractEvents", "DeleteUser"}
	for g, conn := range map[*grpc.Server]*grpc.ClientConn{ts.grpc: ts.conn,
		ts.adminGRPC: ts.adminConn} {
		for service, info := range g.GetServiceInfo() {
			for _, m := range info.Methods {
				name, want := "/"+service+"/"+m.Name, "OTHER_USER"
				switch role := calls.Roles()[name]; {
				case role == doors.Items || role == doors.Admin:
					want = "PERMISSION_DENIED" // no line with user= has these roles
				case slices.Contains(may, m.Name) || role == doors.Anybody:
					want = ""
				}
				same(t, want, refusalIn(t, callMethod(c, conn, name, m)).Reason,
					"%s by a bound token", m.Name)
			}
		}
	}
}

// The JSON side binds tokens too, and tells browsers when they may call again.
func TestBoundTokensByJSON(t *testing.T) {
	ts, sign := boundTo(t, func(c *Config) { c.JSONListen = "127.0.0.1:0" }, " calls=1")
	j := newJSONClient(t, ts.jsonAddress)
	j.token = sign("cat", time.Hour)
	j.refused("GET", "/v1/users/bob/recommendations", "", http.StatusForbidden, "OTHER_USER")
	j.token = sign("ann", time.Hour)
	code, text := j.do("GET", "/v1/users/ann/recommendations", "")
	same(t, http.StatusOK, code, "the list of the user: %s", text)
	check.Await(t, "a call is one too many", func() bool {
		code, text = j.do("GET", "/v1/users/ann/recommendations", "")
		return code != http.StatusOK
	})
	same(t, http.StatusTooManyRequests, code, "a call too many: %s", text)
	if !strings.Contains(text, `"RATE_LIMIT"`) || !strings.Contains(text, `"retryDelay":"1s"`) {
		t.Errorf("the refusal is %s", text)
	}
	if value1(t, ts, `gsimc_calls_refused_total{reason="rate_limit"}`) == 0 {
		t.Error("refused calls are not counted")
	}
	j.token = sign("ann", -time.Minute)
	j.refused("GET", "/v1/users/ann/recommendations", "", http.StatusUnauthorized,
		"UNAUTHENTICATED")
	for _, token := range []string{j.token, "made up"} {
		_, _, header := send(t, "GET", j.base+"/v1/users/ann/recommendations", "",
			"Authorization", "Bearer "+token)
		same(t, "Bearer", header.Get("WWW-Authenticate"), "the challenge")
	}
}

// A stream ends when the time of its token is over.
func TestStreamsEndWithTheTimeOfTheirToken(t *testing.T) {
	i := issuertest.New(t)
	path := certtest.Write(t, t.TempDir(), "tokens",
		[]byte("feed observe jwt "+i.URL+" gsimc\n"))
	ts := start(t, setup{config: func(c *Config) { c.TokenFile = path }})
	var stream pb.EventService_StreamObserveClient
	check.Await(t, "the stream is open", func() bool {
		// The clocks may be apart by half a minute.
		token := i.Sign(t, map[string]any{"iss": i.URL, "aud": "gsimc",
			"exp": time.Now().Add(3*time.Second - 30*time.Second).Unix()})
		var err error
		stream, err = ts.events.StreamObserve(bearing(ctx(t), token))
		must(t, err)
		if stream.Send(&pb.StreamObserveRequest{Sequence: 1,
			Event: &pb.Event{UserId: "ann", ItemId: "i0"}}) != nil {
			return false
		}
		_, err = stream.Recv()
		return err == nil
	})
	_, err := stream.Recv()
	same(t, codes.Unauthenticated, problemOf(t, err).Code, "the end of the stream")
}
