package server

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/console"
)

// The console is served where it opens no door, and refused where somebody wants it to.
func TestWhereTheConsoleIsServed(t *testing.T) {
	const here, there = "127.0.0.1:9090", "0.0.0.0:9090"
	for _, test := range []struct {
		mode     Console
		ops, ca  string
		insecure bool
		served   bool
		bad      string // a part of the fault
	}{
		{ConsoleAuto, here, "", false, true, ""},
		{ConsoleAuto, "localhost:0", "", false, true, ""},
		{ConsoleAuto, there, "", false, false, ""},
		{ConsoleAuto, there, "", true, false, ""},
		{ConsoleAuto, here, "ca.pem", false, false, ""},
		{ConsoleOff, here, "", true, false, ""},
		{ConsoleOn, here, "", false, true, ""},
		{ConsoleOn, there, "", true, true, ""},
		{ConsoleOn, there, "", false, true, `"0.0.0.0:9090" may be reached`},
		{ConsoleOn, here, "ca.pem", false, true, "certificates"},
		{"maybe", here, "", false, false, `want "auto", "on" or "off"`},
		{"", here, "", false, false, `want "auto", "on" or "off"`},
	} {
		c := DefaultConfig()
		c.Console, c.OpsListen, c.Insecure, c.TLSClientCA = test.mode, test.ops, test.insecure, test.ca
		same(t, test.served, c.servesConsole(), "%+v: served", test)
		err := c.validateConsole()
		if (err != nil) != (test.bad != "") ||
			err != nil && !strings.Contains(err.Error(), test.bad) {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

// What the console calls needs the tokens that any client needs, and its files need none.
func TestConsoleNeedsTokens(t *testing.T) {
	ts, tokens := withTokens(t, nil, "recommend")
	c := newJSONClient(t, ts.ops)
	if code, text := c.do("GET", console.Path, ""); code != 200 ||
		!strings.Contains(text, "<!doctype html>") {
		t.Errorf("the page: %d %s", code, text)
	}
	c.refused("POST", "/v1/recommend", `{"userId": "ann"}`, 401, "UNAUTHENTICATED")
	c.refused("GET", "/v1/items:search", "", 401, "UNAUTHENTICATED")
	c.token = tokens[0]
	if code, text := c.do("POST", "/v1/recommend", `{"userId": "ann"}`); code != 200 {
		t.Errorf("a list with a token: %d %s", code, text)
	}
	c.refused("DELETE", "/v1/users/ann", "", 403, "PERMISSION_DENIED")
	c.refused("POST", "/v1/events", `{"userId": "ann", "itemId": "i"}`, 403, "PERMISSION_DENIED")
}

// The page shows the models as the operators see them, and how the metrics were.
func TestConsoleModelsAndPast(t *testing.T) {
	ts := start(t, setup{})
	code, text := ts.get(t, console.Path+"models")
	same(t, 200, code, "%s", text)
	var got pb.ListModelsResponse
	check.Must(t, protojson.Unmarshal([]byte(text), &got))
	want := reply(t, ts.admin.ListModels, &pb.ListModelsRequest{})
	want.ServerId = ""
	if !proto.Equal(want, &got) {
		t.Errorf("the page has %v, an operator %v", &got, want)
	}
	eventually(t, "the first look at the metrics", func() bool {
		var looks []struct{ At float64 }
		_, text := ts.get(t, console.Path+"past")
		return json.Unmarshal([]byte(text), &looks) == nil && len(looks) == 1 && looks[0].At > 0
	})
}

// Without the console, the listener of operators has no way to the services.
func TestNoConsole(t *testing.T) {
	ts := start(t, setup{config: func(c *Config) { c.Console = ConsoleOff }})
	for _, path := range []string{console.Path, console.Path + "past", console.Path + "models",
		"/v1/items:search", "/openapi.json"} {
		if code, _ := ts.get(t, path); code != 404 {
			t.Errorf("%s: %d, want 404", path, code)
		}
	}
}

// A browser of this machine carries what other pages ask for, and names that point here: neither
// reaches a service, and probes and metrics do not mind.
func TestConsoleRefusesOtherPages(t *testing.T) {
	ts := start(t, setup{})
	for _, test := range []struct {
		method, path string
		header       []string
		want         int
	}{
		{"POST", "/v1/events", nil, 200},
		{"POST", "/v1/events", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"POST", "/v1/events", []string{"Origin", "http://" + ts.ops}, 200},
		{"POST", "/v1/events", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"POST", "/v1/events", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"POST", "/v1/events", []string{"Origin", "http://evil.example"}, 403},
		{"POST", "/v1/events",
			[]string{"Host", "evil.example:9090", "Sec-Fetch-Site", "same-origin"}, 403},
		{"GET", "/v1/users/ann", []string{"Host", "evil.example"}, 403},
		{"GET", "/v1/users/ann", []string{"Host", "localhost.evil.example"}, 403},
		{"GET", console.Path, []string{"Host", "evil.example"}, 403},
		{"GET", console.Path + "past", []string{"Host", "evil.example"}, 403},
		{"GET", console.Path + "models", []string{"Host", "evil.example"}, 403},
		{"GET", "/v1/users/ann", []string{"Host", "localhost:9090"}, 200},
		{"GET", "/v1/users/ann", []string{"Host", "[::1]:9090"}, 200},
		{"GET", "/v1/users/ann", []string{"Host", "[::1]"}, 200},
		{"GET", "/readyz", []string{"Host", "evil.example"}, 403},
		{"GET", "/metrics", []string{"Host", "evil.example"}, 403},
		{"GET", "/metrics", []string{"Host", "localhost:9090"}, 200},
	} {
		body := ""
		if test.method == "POST" {
			body = `{"userId": "ann", "itemId": "i"}`
		}
		code, text, _ := send(t, test.method, "http://"+ts.ops+test.path, body, test.header...)
		same(t, test.want, code, "%+v: %.80s", test, text)
	}
	r := reply(t, ts.users.GetUser, &pb.GetUserRequest{UserId: "ann"})
	same(t, int64(3), r.GetUser().GetEventCount(), "events of three requests")
}
