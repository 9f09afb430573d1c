package server

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/test/certtest"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/calls"
	"github.com/gsimc/gsimc/store/memory"
)

// withTokens starts a server with a token for each of these sets of roles.
func withTokens(t testing.TB, config func(*Config), roles ...string) (*testServer, []string) {
	t.Helper()
	var tokens []string
	var file strings.Builder
	for i, has := range roles {
		token, line, err := NewToken(fmt.Sprint("client-", i), has)
		must(t, err)
		tokens = append(tokens, token)
		file.WriteString(line + "\n")
	}
	path := certtest.Write(t, t.TempDir(), "tokens", []byte(file.String()))
	return start(t, setup{config: func(c *Config) {
		c.TokenFile = path
		if config != nil {
			config(c)
		}
	}}), tokens
}

// bearing is a context of calls with a token; empty: without one.
func bearing(ctx context.Context, token string) context.Context {
	if token == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

// callMethod calls a method with an empty request and returns its error. A method that ends with
// an answer gives nil.
func callMethod(ctx context.Context, conn *grpc.ClientConn, name string, m grpc.MethodInfo) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	frame, empty, answer := grpc.ForceCodecV2(bytesCodec{}), &pb.GetStatusRequest{}, []byte{}
	if !m.IsClientStream && !m.IsServerStream {
		return conn.Invoke(ctx, name, empty, &answer, frame)
	}
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: m.IsClientStream,
		ServerStreams: m.IsServerStream}, name, frame)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(empty); err != nil {
		return stream.RecvMsg(&answer)
	}
	if name != pb.AdminService_CreateCheckpoint_FullMethodName {
		_ = stream.CloseSend()
	}
	return stream.RecvMsg(&answer)
}

// TestEveryMethodWithEveryRole calls each served method of both listeners with a token of each
// role, of all roles, without one and with a wrong one. Calls with a far deadline are refused on
// another way. Streams are admitted as such.
func TestEveryMethodWithEveryRole(t *testing.T) {
	roles := []string{"recommend", "observe", "user", "items", "admin"}
	ts, tokens := withTokens(t, nil, append(slices.Clone(roles), strings.Join(roles, ","))...)
	want := map[string]string{ // the role of each method; empty: none is needed
		"/gsimc.v1.RecommenderService/Recommend":                         "recommend",
		"/gsimc.v1.RecommenderService/BatchRecommend":                    "recommend",
		"/gsimc.v1.RecommenderService/RecommendPage":                     "recommend",
		"/gsimc.v1.RecommenderService/SimilarItems":                      "recommend",
		"/gsimc.v1.RecommenderService/GetSpectrum":                       "recommend",
		"/gsimc.v1.RecommenderService/ScoreItems":                        "recommend",
		"/gsimc.v1.EventService/Observe":                                 "observe",
		"/gsimc.v1.EventService/BatchObserve":                            "observe",
		"/gsimc.v1.EventService/StreamObserve":                           "observe",
		"/gsimc.v1.UserService/GetUser":                                  "user",
		"/gsimc.v1.UserService/ListUserEvents":                           "user",
		"/gsimc.v1.UserService/ExportUser":                               "user",
		"/gsimc.v1.UserService/ListUsers":                                "user",
		"/gsimc.v1.UserService/BatchGetChanges":                          "user",
		"/gsimc.v1.UserService/RetractEvents":                            "user",
		"/gsimc.v1.UserService/MergeUsers":                               "user",
		"/gsimc.v1.UserService/DeleteUser":                               "user",
		"/gsimc.v1.ItemService/BatchUpsertItems":                         "items",
		"/gsimc.v1.ItemService/GetItem":                                  "items",
		"/gsimc.v1.ItemService/ListItems":                                "items",
		"/gsimc.v1.ItemService/SearchItems":                              "items",
		"/gsimc.v1.ItemService/BatchGetItems":                            "items",
		"/gsimc.v1.ItemService/BatchDeleteItems":                         "items",
		"/gsimc.v1.ItemService/ListNamedFilters":                         "items",
		"/gsimc.v1.ItemService/SaveNamedFilter":                          "items",
		"/gsimc.v1.AdminService/GetStatus":                               "admin",
		"/gsimc.v1.AdminService/ListModels":                              "admin",
		"/gsimc.v1.AdminService/ReloadModel":                             "admin",
		"/gsimc.v1.AdminService/CreateCheckpoint":                        "admin",
		"/gsimc.v1.AdminService/SetLogLevel":                             "admin",
		"/gsimc.v1.AdminService/SetTraffic":                              "admin",
		"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo":      "admin",
		"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": "admin",
		"/grpc.health.v1.Health/Check":                                   "",
		"/grpc.health.v1.Health/List":                                    "",
		"/grpc.health.v1.Health/Watch":                                   "",
	}
	admitted := calls.OfClients()
	maps.Copy(admitted, calls.OfOperators())
	seen := map[string]bool{}
	for g, conn := range map[*grpc.Server]*grpc.ClientConn{ts.grpc: ts.conn,
		ts.adminGRPC: ts.adminConn} {
		for service, info := range g.GetServiceInfo() {
			for _, m := range info.Methods {
				name := "/" + service + "/" + m.Name
				role, known := want[name]
				if !known {
					t.Errorf("%s is served and not in the table of this test", name)
				}
				seen[name] = true
				if as := admitted[name]; as.Feed != m.IsClientStream ||
					as.Stream != (m.IsClientStream || m.IsServerStream) {
					t.Errorf("%s is admitted as %+v", name, as)
				}
				for i, token := range append(slices.Clone(tokens), "", "wrong") {
					for _, deadline := range []time.Duration{0, time.Hour} {
						c := bearing(t.Context(), token)
						cancel := func() {}
						if deadline > 0 {
							c, cancel = context.WithTimeout(c, deadline)
						}
						got := refusalIn(t, callMethod(c, conn, name, m))
						cancel()
						expect := problem{}
						switch {
						case role == "" || i == len(roles) || i < len(roles) && roles[i] == role:
						case i > len(roles):
							expect = problem{Code: codes.Unauthenticated, Reason: "UNAUTHENTICATED"}
						default:
							expect = problem{Code: codes.PermissionDenied, Reason: "PERMISSION_DENIED"}
						}
						same(t, expect, got, "%s, token %d, deadline %v", name, i, deadline)
					}
				}
			}
		}
	}
	same(t, len(want), len(seen), "methods served")
	if value1(t, ts, `gsimc_calls_refused_total{reason="unauthenticated"}`) == 0 ||
		value1(t, ts, `gsimc_calls_refused_total{reason="permission_denied"}`) == 0 {
		t.Error("refused calls are not counted")
	}
}

// refusalIn is the refusal of the doors in an error; nothing if another part of the server answered.
func refusalIn(t testing.TB, err error) problem {
	t.Helper()
	if err == nil || err.Error() == "EOF" {
		return problem{}
	}
	p := problemOf(t, err)
	switch p.Code {
	case codes.Unauthenticated, codes.PermissionDenied:
		return p
	case codes.InvalidArgument, codes.FailedPrecondition, codes.NotFound:
		return problem{}
	}
	t.Errorf("an error that is not expected: %v", err)
	return p
}

// Calls without a token, with far deadlines, keep no room from calls that have one.
func TestRefusedCallsLeaveTheirRoom(t *testing.T) {
	ts, tokens := withTokens(t, nil, "recommend")
	for range 300 {
		if _, err := ts.recommend.Recommend(ctx(t), forUser("ann")); problemOf(t,
			err).Code != codes.Unauthenticated {
			t.Fatalf("a call without a token: %v", err)
		}
	}
	same(t, 0.0, value1(t, ts, `gsimc_calls_under_way{class="recommend",state="receiving"}`),
		"refused calls under way")
	check.Pass(t, check.Err(ts.recommend.Recommend(bearing(ctx(t), tokens[0]), forUser("ann"))),
		"a call with a token")
}

// Calls that are refused for their token after their message take no room of those with one, and
// none when they are refused.
func TestStrangersTakeNoRoom(t *testing.T) {
	ts, tokens := withTokens(t, func(c *Config) { c.MaxStreams, c.MaxInFlight = 1, 1 }, "recommend")
	far, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	const stream = pb.EventService_StreamObserve_FullMethodName
	tap := func(ctx context.Context, method string) context.Context {
		t.Helper()
		ctx = check.Get(ts.chain.Tap(ctx, ts.gate, method))(t)
		return ctx
	}
	var strangers []context.Context
	for range 10 * maxReceiving { // more calls than may be receiving, of all classes together
		strangers = append(strangers, tap(far, stream),
			tap(far, pb.RecommenderService_Recommend_FullMethodName))
	}
	good := metadata.NewIncomingContext(far, metadata.Pairs("authorization", "Bearer "+tokens[0]))
	tap(good, pb.RecommenderService_Recommend_FullMethodName)
	for _, ctx := range strangers {
		err := ts.chain.Stream(nil, serverStream{ctx: ctx}, &grpc.StreamServerInfo{FullMethod: stream},
			func(any, grpc.ServerStream) error { return nil })
		check.MustSame(t, codes.Unauthenticated, problemOf(t, err).Code, "a stream without a token")
	}
	same(t, 0.0, value1(t, ts, `gsimc_calls_under_way{class="stranger",state="receiving"}`),
		"refused calls under way")
}

// serverStream is a stream of a client that sends nothing.
type serverStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements grpc.ServerStream.
func (s serverStream) Context() context.Context { return s.ctx }

// Methods that do not exist are told to those only whose token the server knows.
func TestUnknownMethodsNeedAToken(t *testing.T) {
	ts, tokens := withTokens(t, nil, "recommend")
	for token, want := range map[string]codes.Code{"": codes.Unauthenticated,
		tokens[0]: codes.Unimplemented} {
		err := callMethod(bearing(t.Context(), token), ts.conn, "/gsimc.v1.Nothing/Do",
			grpc.MethodInfo{})
		same(t, want, problemOf(t, err).Code, "a made-up method")
	}
}

// No token, good or bad, in the logs, on /metrics, in errors, or on the pages of the ops listener.
func TestTokensStayPrivate(t *testing.T) {
	ts, tokens := withTokens(t, func(c *Config) {
		c.Pprof, c.SlowRequest = true, time.Microsecond
	}, "recommend", "observe,admin")
	canaries := append(slices.Clone(tokens), "canary-5e1d")
	var texts []string
	for _, token := range canaries {
		for _, d := range []time.Duration{time.Hour, 0} {
			c := bearing(ctx(t), token)
			if d == 0 {
				c = bearing(t.Context(), token)
			}
			_, err := ts.recommend.Recommend(c, forUser("ann"))
			texts = append(texts, fmt.Sprint(err))
			_, err = ts.events.Observe(c, &pb.ObserveRequest{})
			texts = append(texts, fmt.Sprint(err))
			_, err = ts.admin.ReloadModel(c, &pb.ReloadModelRequest{})
			texts = append(texts, fmt.Sprint(err))
		}
	}
	texts = append(texts, ts.logs.String())
	for _, path := range []string{"/metrics", "/readyz", "/debug/pprof/goroutine?debug=2",
		"/debug/pprof/cmdline"} {
		_, page := ts.get(t, path)
		texts = append(texts, page)
	}
	for _, text := range texts {
		for _, canary := range canaries {
			check.Lacks(t, text, canary, "a token as text")
		}
	}
}

// Addresses that other machines reach need TLS and a proof of who calls, or a word of the operator.
func TestDenyByDefault(t *testing.T) {
	tls := func(c *Config) { c.TLSCert, c.TLSKey = "cert", "key" }
	tokens := func(c *Config) { c.TokenFile = "tokens" }
	clientCA := func(c *Config) { c.TLSClientCA = "ca" }
	insecure := func(c *Config) { c.Insecure = true }
	for _, address := range []string{"0.0.0.0:1", ":1", "[::]:1", "10.0.0.7:1", "example.org:1",
		"[::ffff:10.0.0.7]:1"} {
		for _, admin := range []bool{false, true} {
			for _, tt := range []struct {
				name string
				with []func(*Config)
				ok   bool
			}{
				{"nothing", nil, false}, {"TLS", []func(*Config){tls}, false},
				{"tokens", []func(*Config){tokens}, false},
				{"TLS and tokens", []func(*Config){tls, tokens}, true},
				{"TLS and certificates of clients", []func(*Config){tls, clientCA}, true},
				{"insecure", []func(*Config){insecure}, true},
			} {
				cfg := DefaultConfig()
				for _, set := range tt.with {
					set(&cfg)
				}
				field := "Listen"
				if cfg.Listen = address; admin {
					field, cfg.Listen, cfg.AdminListen = "AdminListen", DefaultConfig().Listen, address
				}
				err := cfg.Validate()
				if tt.ok != (err == nil) {
					t.Errorf("%s %s with %s: %v", field, address, tt.name, err)
				}
				if err != nil && (!strings.Contains(err.Error(), field+`: "`) ||
					!strings.Contains(fault.Text(err, func(f string) string { return "--" + f }),
						"--Insecure")) {
					t.Errorf("%s %s with %s: the fault does not name the way out: %v", field, address,
						tt.name, err)
				}
			}
		}
	}
	for _, address := range []string{"127.0.0.1:1", "localhost:1", "[::1]:1", "127.8.9.1:1"} {
		cfg := DefaultConfig()
		cfg.Listen, cfg.AdminListen, cfg.OpsListen, cfg.Pprof = address, "unix:/run/x", address, true
		check.Pass(t, cfg.Validate(), "%s", address)
	}
	cfg := DefaultConfig()
	cfg.Pprof, cfg.OpsListen = true, "0.0.0.0:9090"
	check.Says(t, cfg.Validate(), "Pprof: ", "profiles for everybody")
	for name, set := range map[string]func(*Config){
		"a certificate without its key": func(c *Config) { c.TLSCert = "x" },
		"a key without its certificate": func(c *Config) { c.TLSKey = "x" },
		"authorities without TLS":       clientCA,
	} {
		cfg := DefaultConfig()
		if set(&cfg); cfg.Validate() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// A server does not start with files that are bad or absent.
func TestBadDoorsEndTheStart(t *testing.T) {
	for field, set := range map[string]func(*Config, string){
		"TokenFile":   func(c *Config, path string) { c.TokenFile = path },
		"TLSCert":     func(c *Config, path string) { c.TLSCert, c.TLSKey = path, path },
		"FiltersFile": func(c *Config, path string) { c.FiltersFile = path },
	} {
		for _, path := range []string{filepath.Join(t.TempDir(), "absent"),
			certtest.Write(t, t.TempDir(), "bad", []byte("not this"))} {
			cfg := DefaultConfig()
			set(&cfg, path)
			_, err := New(cfg, memory.New(), named(t, "paper"))
			check.Says(t, err, field+": ", "%s %s", field, path)
		}
	}
}

// BenchmarkRefused measures a call without a token, and what the server keeps of it while the
// deadline of the call has not passed.
func BenchmarkRefused(b *testing.B) {
	for _, deadline := range []time.Duration{0, 100 * time.Hour} {
		b.Run(fmt.Sprint("deadline=", deadline), func(b *testing.B) {
			ts, _ := withTokens(b, quiet, "admin")
			heap := func() uint64 {
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return m.HeapAlloc
			}
			before := heap()
			for b.Loop() {
				c, cancel := context.Background(), func() {}
				if deadline > 0 {
					c, cancel = context.WithTimeout(c, deadline)
				}
				if _, err := ts.recommend.Recommend(c, forUser("ann")); err == nil {
					b.Fatal("a call without a token is answered")
				}
				cancel()
			}
			b.ReportMetric((float64(heap())-float64(before))/float64(b.N), "kept-B/op")
		})
	}
}
