package server

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/certtest"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/calls"
	"github.com/gsimc/gsimc/server/internal/doors"
)

// jsonClient asks a server by HTTP.
type jsonClient struct {
	t     *testing.T
	base  string
	token string
}

func newJSONClient(t *testing.T, address string) *jsonClient {
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return &jsonClient{t: t, base: "http://" + address}
}

func startJSON(t *testing.T, su setup) (*testServer, *jsonClient) {
	t.Helper()
	configure := su.config
	su.config = func(c *Config) {
		c.JSONListen = "127.0.0.1:0"
		if configure != nil {
			configure(c)
		}
	}
	ts := start(t, su)
	return ts, newJSONClient(t, ts.jsonAddress)
}

// do returns the status and the body of the answer to a request.
func (c *jsonClient) do(method, path, body string) (int, string) {
	c.t.Helper()
	code, text, _ := send(c.t, method, c.base+path, body, c.authorization()...)
	return code, text
}

func (c *jsonClient) authorization() []string {
	if c.token == "" {
		return nil
	}
	return []string{"Authorization", "Bearer " + c.token}
}

// refused checks the HTTP status and the reason of a refusal.
func (c *jsonClient) refused(method, path, body string, code int, reason string) {
	c.t.Helper()
	got, text := c.do(method, path, body)
	var st struct {
		Details []struct{ Reason, Domain string }
	}
	if err := json.Unmarshal([]byte(text), &st); err != nil || len(st.Details) == 0 {
		c.t.Errorf("%s %s: the answer is no status with details: %v: %s", method, path, err, text)
		return
	}
	if got != code || st.Details[0].Reason != reason || st.Details[0].Domain != "gsimc" {
		c.t.Errorf("%s %s: %d and %+v, want %d and %s", method, path, got, st.Details, code, reason)
	}
}

// The JSON side answers what gRPC answers, for ids with any characters.
func TestJSON(t *testing.T) {
	ts, c := startJSON(t, setup{})
	const user = "ann/of %2F space:batch"
	path := "/v1/users/ann%2Fof%20%252F%20space:batch"
	event := fmt.Sprintf(`{"userId": %q, "item_id": %q, "eventId": "e1"}`, user, item(1))
	for i, want := range []string{"APPLIED", "DUPLICATE"} {
		code, text := c.do("POST", "/v1/events", event)
		if code != 200 || !strings.Contains(text, want) {
			t.Errorf("event %d: %d %s, want %s", i+1, code, text, want)
		}
	}
	agrees := func(method, path, body string, into, want proto.Message) {
		t.Helper()
		code, text := c.do(method, path, body)
		if err := protojson.Unmarshal([]byte(text), into); err != nil || code != 200 {
			t.Fatalf("%s %s: %d, %v: %s", method, path, code, err, text)
		}
		same(t, want, into, "%s %s (-gRPC +JSON)", method, path)
	}
	info := reply(t, ts.users.GetUser, &pb.GetUserRequest{UserId: user})
	agrees("GET", path, "", &pb.GetUserResponse{}, info)
	req := forUser(user)
	req.PageSize = 3
	list := ts.ask(t, req)
	agrees("GET", path+"/recommendations?page_size=3", "", &pb.RecommendResponse{}, list)
	text := check.Get(protojson.Marshal(req))(t)
	agrees("POST", "/v1/recommend", string(text), &pb.RecommendResponse{}, list)

	code, exported, header := send(t, "GET", c.base+path+"/export", "")
	same(t, "application/x-ndjson", header.Get("Content-Type"), "the export")
	for line := range strings.Lines(exported) {
		if err := protojson.Unmarshal([]byte(line), &pb.ExportUserResponse{}); err != nil || code != 200 {
			t.Errorf("a line of the export: %d, %v: %s", code, err, line)
		}
	}
	check.Has(t, exported, `"e1"`, "the export")

	c.refused("GET", "/v1/users/nobody", "", 404, "USER_NOT_FOUND")
	c.refused("GET", "/v1/users/nobody/export", "", 404, "USER_NOT_FOUND")
	c.refused("POST", "/v1/events", `{"userId": "u"}`, 400, "INVALID_FIELD")
	c.refused("POST", "/v1/events", `{"userId": `, 400, "INVALID_ARGUMENT")
	c.refused("POST", "/v1/events", `{"noSuchField": 1}`, 400, "INVALID_FIELD")
	c.refused("POST", "/v1/events", event+event, 400, "INVALID_ARGUMENT")
	c.refused("GET", path+"/recommendations?page_size=many", "", 400, "INVALID_FIELD")
	c.refused("POST", "/v1/recommend", `{"userId": "u", "filter": {"ranges": [`+
		`{"name": "p", "gt": 1, "gte": 2}]}}`, 400, "INVALID_FIELD")
	c.refused("GET", path+"/recommendations?filter.deny_item_id=i", "", 400, "INVALID_FIELD")
	c.refused("PUT", path, "", 405, "UNKNOWN_METHOD")
	c.refused("GET", "/v1/nothing", "", 404, "UNKNOWN_METHOD")
	if code, text := c.do("DELETE", path, ""); code != 200 || !strings.Contains(text, `"1"`) {
		t.Errorf("DELETE: %d %s, want one event", code, text)
	}
}

// The name that a client gives to a call comes back with the answer, and is in the log.
func TestRequestIDs(t *testing.T) {
	ts, c := startJSON(t, setup{config: func(c *Config) { c.SlowRequest = time.Microsecond }})
	for id, want := range map[string]string{"call-1": "call-1",
		strings.Repeat("x", calls.MaxRequestID+1): ""} {
		var header metadata.MD
		with := metadata.AppendToOutgoingContext(ctx(t), calls.RequestIDKey, id)
		check.Get(ts.recommend.Recommend(with, forUser("ann"), grpc.Header(&header)))(t)
		same(t, want, strings.Join(header.Get(calls.RequestIDKey), ","),
			"the answer to %.10q has the id", id)
	}
	_, _, header := send(t, "GET", c.base+"/v1/users/ann/recommendations", "",
		"X-Request-Id", "call-2")
	same(t, "call-2", header.Get("X-Request-Id"), "the answer by HTTP has the id")
	for _, id := range []string{"call-1", "call-2"} {
		ts.awaitLog(t, `"request_id":"`+id+`"`)
	}
}

// Every method of clients has a path, but for streams of requests, and openapi.json names it.
func TestEveryMethodHasAPath(t *testing.T) {
	_, c := startJSON(t, setup{})
	_, text := c.do("GET", "/openapi.json", "")
	for _, file := range []protoreflect.FileDescriptor{pb.File_gsimc_v1_recommender_service_proto,
		pb.File_gsimc_v1_event_service_proto, pb.File_gsimc_v1_user_service_proto,
		pb.File_gsimc_v1_item_service_proto} {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				m := service.Methods().Get(j)
				id := fmt.Sprintf(`"%s_%s"`, service.Name(), m.Name())
				if !m.IsStreamingClient() && !strings.Contains(text, id) {
					t.Errorf("api/http.yaml has no path for %s", m.FullName())
				}
			}
		}
	}
}

// With a certificate the JSON side takes TLS only, and HTTP/2 by it; with an authority of clients,
// clients need theirs.
func TestJSONByTLS(t *testing.T) {
	authority := certtest.NewAuthority(t)
	pair := authority.Issue(t, 2, time.Now().Add(time.Hour))
	dir := t.TempDir()
	ts, c := startJSON(t, setup{config: func(c *Config) {
		c.TLSCert = certtest.Write(t, dir, "cert", pair.Cert)
		c.TLSKey = certtest.Write(t, dir, "key", pair.Key)
		c.TLSClientCA = certtest.Write(t, dir, "ca", authority.PEM)
	}})
	if code, text := c.do("GET", "/openapi.json", ""); code != 400 {
		t.Errorf("in plain text: %d %s", code, text)
	}
	own := check.Get(tls.X509KeyPair(pair.Cert, pair.Key))(t)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.PEM)
	url := strings.Replace(c.base, "http:", "https:", 1) + "/openapi.json"
	for _, certs := range [][]tls.Certificate{{own}, nil} {
		client := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true,
			TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: certs}}}
		resp, err := client.Get(url)
		if err == nil {
			resp.Body.Close()
		}
		switch {
		case certs == nil && err == nil:
			t.Error("a client without a certificate was answered")
		case certs != nil && (err != nil || resp.ProtoMajor != 2 || resp.StatusCode != 200):
			t.Errorf("with a certificate: %v, %v, want HTTP/2 and 200", resp, err)
		case certs != nil:
			forged, err := http.NewRequest("GET",
				strings.Replace(url, "openapi.json", "v1/users/ann", 1), nil)
			must(t, err)
			forged.Header.Set("Grpc-Metadata-"+doors.CertificateHeader, "somebody else")
			forged.Header.Set(doors.CertificateHeader, "somebody else")
			if resp, err = client.Do(forged); err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			check.Has(t, ts.logs.String(), `"caller":"test"`,
				"log with the caller of the certificate")
		}
		client.CloseIdleConnections()
	}
}

// Bodies are bounded alone and together, and those that do not come make room.
func TestJSONBodies(t *testing.T) {
	ts, c := startJSON(t, setup{config: func(c *Config) { c.MaxRecvBytes = 10_000 }})
	long := func(n int) string { return fmt.Sprintf(`{"userId": %q}`, strings.Repeat("x", n)) }
	c.refused("POST", "/v1/events", long(9_000), 400, "INVALID_FIELD")
	c.refused("POST", "/v1/events", long(10_000), 413, "BODY_TOO_LARGE")

	conn := check.Get(net.Dial("tcp", ts.jsonAddress))(t)
	defer conn.Close()
	check.Get(io.WriteString(conn, "POST /v1/events HTTP/1.1\r\nHost: localhost\r\n"+
		"Content-Length: 100\r\n\r\n{"))(t)
	must(t, conn.(*net.TCPConn).CloseWrite())
	answer, _ := io.ReadAll(conn)
	check.Has(t, string(answer), "BODY_INCOMPLETE", "answer to half a body")
}

// Pages of other web sites write nothing by the browser of somebody on this machine, unless the
// server knows them; where callers have to prove who they are, hosts may have any name.
func TestJSONRefusesOtherPages(t *testing.T) {
	const shop = "https://shop.example"
	ask := func(ts *testServer, method, token string, header ...string) (int, http.Header) {
		t.Helper()
		c := newJSONClient(t, ts.jsonAddress)
		c.token = token
		code, text, answered := send(t, method, c.base+"/v1/events",
			`{"userId": "ann", "itemId": "i"}`, append(c.authorization(), header...)...)
		if code == http.StatusForbidden {
			for _, want := range []string{"FOREIGN_PAGE", "--json-origin"} {
				if !strings.Contains(text, want) || !json.Valid([]byte(text)) {
					t.Errorf("%q is refused by %s, want JSON with %s", header, text, want)
				}
			}
		}
		return code, answered
	}
	open, _ := startJSON(t, setup{})
	known, _ := startJSON(t, setup{config: func(c *Config) { c.JSONOrigins = []string{shop} }})
	proved, tokens := withTokens(t, func(c *Config) { c.JSONListen = "127.0.0.1:0" }, "observe")
	for _, tt := range []struct {
		on     *testServer
		token  string
		header []string
		want   int
	}{
		{open, "", nil, 200},
		{open, "", []string{"Origin", shop, "Content-Type", "text/plain"}, 403},
		{open, "", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{open, "", []string{"Host", "evil.example", "Sec-Fetch-Site", "same-origin"}, 403},
		{known, "", []string{"Origin", shop, "Sec-Fetch-Site", "cross-site"}, 200},
		{known, "", []string{"Origin", "https://evil.example"}, 403},
		{proved, tokens[0], []string{"Host", "api.shop.example"}, 200},
		{proved, "", []string{"Host", "api.shop.example"}, 401},
		{proved, tokens[0], []string{"Sec-Fetch-Site", "cross-site"}, 403},
	} {
		if code, _ := ask(tt.on, "POST", tt.token, tt.header...); code != tt.want {
			t.Errorf("%+v: %d", tt, code)
		}
	}
	code, header := ask(known, "OPTIONS", "", "Origin", shop,
		"Access-Control-Request-Method", "POST",
		"Access-Control-Request-Headers", "authorization,content-type")
	if code != 204 || header.Get("Access-Control-Allow-Origin") != shop {
		t.Errorf("the question of a browser: %d, %v", code, header)
	}
	r := reply(t, open.users.GetUser, &pb.GetUserRequest{UserId: "ann"})
	same(t, int64(1), r.GetUser().GetEventCount(), "events")
}

// A request in flight is finished by a drain, and no new one is taken.
func TestJSONDrains(t *testing.T) {
	release := make(chan struct{})
	ts, c := startJSON(t, setup{store: slowStore(release)})
	answers := make(chan int)
	go func() {
		code, _ := c.do("POST", "/v1/events", fmt.Sprintf(`{"userId":"u","itemId":%q}`, item(1)))
		answers <- code
	}()
	eventually(t, "the call runs", func() bool {
		return value1(t, ts, `gsimc_calls_under_way{class="observe",state="running"}`) == 1
	})
	ts.stop()
	eventually(t, "the door is closed", func() bool {
		conn, err := net.DialTimeout("tcp", ts.jsonAddress, time.Second)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	close(release)
	same(t, 200, <-answers, "the call in flight")
	ts.shutdown(t)
}

// BenchmarkJSON compares a list by JSON with one by gRPC, one call at a time.
func BenchmarkJSON(b *testing.B) {
	ts := start(b, setup{config: func(c *Config) { c.JSONListen = "127.0.0.1:0" }})
	for i := range 5 {
		ts.observe(b, newEvent("ann", i))
	}
	b.Run("grpc", func(b *testing.B) {
		for b.Loop() {
			if _, err := ts.recommend.Recommend(b.Context(), forUser("ann")); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("json", func(b *testing.B) {
		for b.Loop() {
			resp, err := http.Get("http://" + ts.jsonAddress + "/v1/users/ann/recommendations")
			must(b, err)
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != 200 {
				b.Fatal(resp.StatusCode, err)
			}
		}
	})
}
