package server

import (
	"io"
	"net/http"
	"strings"
	"testing"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
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
		if got := c.servesConsole(); got != test.served {
			t.Errorf("%+v: served %v", test, got)
		}
		err := c.validateConsole()
		if (err != nil) != (test.bad != "") ||
			err != nil && !strings.Contains(err.Error(), test.bad) {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

// onOps is a client of the JSON API on the listener of operators.
func onOps(t *testing.T, ts *testServer) *jsonClient {
	c := &jsonClient{t: t, base: "http://" + ts.ops, http: &http.Client{}}
	t.Cleanup(c.http.CloseIdleConnections)
	return c
}

// What the console calls needs the tokens that any client needs, and its files need none.
func TestConsoleNeedsTokens(t *testing.T) {
	ts, tokens := withTokens(t, nil, "recommend")
	c := onOps(t, ts)
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

// Without the console, the listener of operators has no way to the services.
func TestNoConsole(t *testing.T) {
	ts := start(t, setup{config: func(c *Config) { c.Console = ConsoleOff }})
	for _, path := range []string{console.Path, "/v1/items:search", "/openapi.json"} {
		if code, _ := ts.get(t, path); code != 404 {
			t.Errorf("%s: %d, want 404", path, code)
		}
	}
}

// A browser of this machine carries what other pages ask for, and names that point here: neither
// reaches a service, and probes and metrics do not mind.
func TestConsoleRefusesOtherPages(t *testing.T) {
	ts := start(t, setup{})
	ask := func(method, path, host string, header ...string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx(t), method, "http://"+ts.ops+path,
			strings.NewReader(`{"userId": "ann", "itemId": "i"}`))
		must(t, err)
		if host != "" {
			req.Host = host
		}
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		resp, err := http.DefaultClient.Do(req)
		must(t, err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		must(t, err)
		return resp.StatusCode, string(text)
	}
	for _, test := range []struct {
		method, path, host string
		header             []string
		want               int
	}{
		{"POST", "/v1/events", "", nil, 200},
		{"POST", "/v1/events", "", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"POST", "/v1/events", "", []string{"Origin", "http://" + ts.ops}, 200},
		{"POST", "/v1/events", "", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"POST", "/v1/events", "", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"POST", "/v1/events", "", []string{"Origin", "http://evil.example"}, 403},
		{"POST", "/v1/events", "evil.example:9090", []string{"Sec-Fetch-Site", "same-origin"}, 403},
		{"GET", "/v1/users/ann", "evil.example", nil, 403},
		{"GET", "/v1/users/ann", "localhost.evil.example", nil, 403},
		{"GET", console.Path, "evil.example", nil, 403},
		{"GET", "/metrics", "evil.example", nil, 403},
		{"GET", "/readyz", "evil.example", nil, 403},
		{"GET", "/metrics", "localhost:9090", nil, 200},
		{"GET", "/v1/users/ann", "localhost:9090", nil, 200},
		{"GET", "/v1/users/ann", "[::1]:9090", nil, 200},
		{"GET", "/v1/users/ann", "[::1]", nil, 200},
	} {
		if code, text := ask(test.method, test.path, test.host, test.header...); code != test.want {
			t.Errorf("%s %s of host %q with %q: %d, want %d: %.80s", test.method, test.path, test.host,
				test.header, code, test.want, text)
		}
	}
	r, err := ts.users.GetUser(ctx(t), &pb.GetUserRequest{UserId: "ann"})
	if err != nil || r.GetUser().GetEventCount() != 3 {
		t.Errorf("%v, %v, want the events of three requests", r, err)
	}
}
