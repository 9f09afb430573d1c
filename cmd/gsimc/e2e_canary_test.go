package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/certtest"
	"github.com/gsimc/gsimc/internal/test/check"
)

// The marks of what must not be shown: each value of that kind has one in it.
const (
	markedUser  = "zqxuser"
	markedItem  = "zqxitem"
	markedEvent = "zqxevent"
	markedType  = "zqxtype"
	markedToken = "gsimc_zqxtoken" // of a bearer token that the server does not know
)

// canary remembers what a server has been told in confidence, and what it has shown.
type canary struct {
	t      *testing.T
	p      *serverProcess
	conn   grpc.ClientConnInterface
	admin  grpc.ClientConnInterface
	bearer map[string]string // by roles

	mu      sync.Mutex
	secrets map[string]string // by what they are
	shown   map[string]*strings.Builder
	codes   map[codes.Code]bool // of the errors
	called  map[string]bool     // methods, by their full names
}

const clientRoles = "recommend,observe,user,items"

// newCanaries starts a server with tokens that logs everything and has little room. It returns a
// function that starts another one on the same store, with the same tokens.
func newCanaries(t *testing.T) func() *canary {
	t.Helper()
	_, model := smallModel(t)
	dir, bearer := t.TempDir(), map[string]string{}
	var lines string
	for _, roles := range []string{clientRoles, "recommend", "admin"} {
		token, line, _ := strings.Cut(execute(t, "token", "a-client", "--roles", roles), "\n")
		bearer[roles] = token
		lines += line
	}
	tokens := certtest.Write(t, t.TempDir(), "tokens", []byte(lines))
	return func() *canary {
		c := &canary{t: t, bearer: bearer, shown: map[string]*strings.Builder{},
			codes: map[codes.Code]bool{}}
		c.p = startServe(t, model, dir, "--token-file", tokens, "--log-level", "debug",
			"--slow-request", "1us", "--pprof", "--max-in-flight", "8", "--max-streams", "2",
			"--max-new-users", "100", "--drain-timeout", "1s", "--extend-every", "100ms",
			"--quality-sample", "1")
		c.conn = notingConn{c.p.client(t), c}
		c.admin = notingConn{c.p.dialAdmin(t).Conn(), c}
		c.secrets, c.called = map[string]string{}, map[string]bool{}
		for what, mark := range map[string]string{"user id": markedUser, "item id": markedItem,
			"event id": markedEvent, "event type": markedType, "unknown token": markedToken} {
			c.keep(what, []byte(mark))
		}
		for roles, token := range bearer {
			c.keep("token of "+roles, []byte(token))
		}
		return c
	}
}

// keep notes a secret in the forms in which it might be shown.
func (c *canary) keep(what string, secret []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var numbers []string
	for _, b := range secret {
		numbers = append(numbers, fmt.Sprintf("%#x", b))
	}
	quoted := fmt.Sprintf("%q", secret)
	for form, text := range map[string]string{
		"":              string(secret),
		" in hex":       hex.EncodeToString(secret),
		" in base64":    base64.RawStdEncoding.EncodeToString(secret),
		" in base64url": base64.RawURLEncoding.EncodeToString(secret),
		" in quotes":    quoted[1 : len(quoted)-1],
		" in decimals":  strings.Trim(fmt.Sprintf("%d", secret), "[]"),
		" in a stack":   strings.Join(numbers, ", "),
	} {
		c.secrets[what+form+" of "+hex.EncodeToString(secret[max(len(secret)-4, 0):])] = text
	}
}

// session notes a session token. Its last bytes, the mark of the history and the tag, are secret in
// themselves.
func (c *canary) session(token []byte) []byte {
	c.t.Helper()
	if len(token) < 16 {
		c.t.Fatalf("a session token of %d bytes", len(token))
	}
	c.keep("session token", token)
	c.keep("end of a session token", token[len(token)-16:])
	c.keep("tag of a session token", token[len(token)-8:])
	return token
}

// show takes in what the server has shown.
func (c *canary) show(where, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shown[where] == nil {
		c.shown[where] = &strings.Builder{}
	}
	c.shown[where].WriteString(text + "\n")
}

// failed takes in an error of a call, with its details, and returns its code.
func (c *canary) failed(err error) codes.Code {
	if err == nil {
		return codes.OK
	}
	st := status.Convert(err)
	text := err.Error()
	for _, d := range st.Details() {
		text += fmt.Sprintf("\n%v", d)
	}
	c.show("errors", text)
	c.show("encoded errors", prototext.Format(st.Proto()))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.codes[st.Code()] = true
	return st.Code()
}

// fails takes in an error of a call, which must have a code.
func (c *canary) fails(err error, want codes.Code, what string) {
	c.t.Helper()
	check.Same(c.t, want, c.failed(err), "%s: %v", what, err)
}

// A notingConn shows the errors, headers and trailers of unary calls.
type notingConn struct {
	grpc.ClientConnInterface
	*canary
}

func (n notingConn) Invoke(
	ctx context.Context, method string, req, resp any, opts ...grpc.CallOption,
) error {
	n.note(method)
	var header, trailer metadata.MD
	err := n.ClientConnInterface.Invoke(ctx, method, req, resp,
		append(opts, grpc.Header(&header), grpc.Trailer(&trailer))...)
	delete(trailer, "grpc-status-details-bin") // the same as the details of the error
	n.show("headers", fmt.Sprint(header, trailer))
	n.failed(err)
	return err
}

// NewStream notes the method.
func (n notingConn) NewStream(
	ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	n.note(method)
	return n.ClientConnInterface.NewStream(ctx, desc, method, opts...)
}

func (c *canary) note(method string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.called[method] = true
}

// checkCalled finds methods that were not called.
func (c *canary) checkCalled() {
	c.t.Helper()
	for _, service := range []*grpc.ServiceDesc{&pb.RecommenderService_ServiceDesc,
		&pb.EventService_ServiceDesc, &pb.UserService_ServiceDesc, &pb.ItemService_ServiceDesc,
		&pb.AdminService_ServiceDesc} {
		var names []string
		for _, m := range service.Methods {
			names = append(names, m.MethodName)
		}
		for _, s := range service.Streams {
			names = append(names, s.StreamName)
		}
		for _, name := range names {
			if full := "/" + service.ServiceName + "/" + name; !c.called[full] {
				c.t.Errorf("%s was not called: the test tests less than it says", full)
			}
		}
	}
}

// as is a context of calls with the token of some roles.
func (c *canary) as(roles string) context.Context {
	return bearing(c.t, c.bearer[roles])
}

func bearing(t *testing.T, token string) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

// markedEventOf is an event of a marked user with a marked id.
func markedEventOf(user, id string) *pb.Event {
	return &pb.Event{UserId: markedUser + user, ItemId: markedItem + id, EventId: markedEvent + id,
		EventType: markedType}
}

func markedRequest(user string) *pb.RecommendRequest {
	return &pb.RecommendRequest{Subject: &pb.RecommendRequest_UserId{UserId: markedUser + user}}
}

// observe sends an event and returns its session token.
func (c *canary) observe(e *pb.Event) []byte {
	c.t.Helper()
	resp := check.Get(pb.NewEventServiceClient(c.conn).Observe(c.as(clientRoles),
		&pb.ObserveRequest{Event: e}))(c.t)
	return c.session(resp.GetSessionToken())
}

// TestNothingPrivateIsShown tells a server marked ids, types of events, tokens and session tokens,
// on every way in and in many errors. None of them stands in the log, in metrics, errors, headers
// and profiles, nor in what the process prints when SIGQUIT ends it.
func TestNothingPrivateIsShown(t *testing.T) {
	t.Setenv("GOTRACEBACK", "system") // the most that a process prints without a core
	begin := newCanaries(t)
	c := begin()
	c.everyMethod()
	c.otherLists()
	c.catalogue()
	c.changes()
	c.badFields()
	c.badSessions()
	c.wrongTokens()
	c.noRoom()
	c.pages()
	c.drain()
	for _, code := range []codes.Code{codes.InvalidArgument, codes.AlreadyExists, codes.NotFound,
		codes.Unauthenticated, codes.PermissionDenied, codes.FailedPrecondition, codes.DataLoss,
		codes.ResourceExhausted, codes.Unavailable, codes.Unimplemented} {
		if !c.codes[code] {
			t.Errorf("no error was %v: the test tests less than it says", code)
		}
	}
	c.checkCalled()
	c.show("the log", c.p.log.String())
	c.search("slow call", "user_hash", "audit", "draining")

	c = begin()
	stop := c.load()
	c.quit()
	stop()
	c.show("the log", c.p.log.String())
	c.search("SIGQUIT", "goroutine ")
}

// search looks for each secret in all that was shown, and for words that the log must have.
func (c *canary) search(words ...string) {
	c.t.Helper()
	if len(c.leaks(markedRequest("x").String())) == 0 {
		c.t.Error("the search does not find an id in a request")
	}
	for where, text := range c.shown {
		for _, what := range c.leaks(text.String()) {
			c.t.Errorf("%s: there is a %s", where, what)
		}
	}
	for _, word := range words {
		check.Has(c.t, c.shown["the log"].String(), word, "the log")
	}
}

// leaks returns which secrets a text has.
func (c *canary) leaks(text string) (found []string) {
	for what, secret := range c.secrets {
		if strings.Contains(text, secret) {
			found = append(found, what)
		}
	}
	slices.Sort(found)
	return found
}

// drain ends the server with a stream open, which sends on until it is cut.
func (c *canary) drain() {
	stream := check.Get(pb.NewEventServiceClient(c.conn).StreamObserve(c.as(clientRoles)))(c.t)
	check.Must(c.t, stream.Send(&pb.StreamObserveRequest{Sequence: 1,
		Event: markedEventOf("drain", "drain")}))
	check.Get(stream.Recv())(c.t) // the acknowledgement
	check.Must(c.t, c.p.Signal(syscall.SIGTERM))
	var err error
	for err == nil {
		_, _ = pb.NewEventServiceClient(c.conn).Observe(c.as(clientRoles),
			&pb.ObserveRequest{Event: markedEventOf("drain", "late")})
		_, err = stream.Recv()
	}
	c.fails(err, codes.Unavailable, "the end of the stream")
	<-c.p.Exited()
}

// load calls on and on, until stop is called. It keeps the last session tokens.
func (c *canary) load() (stop func()) {
	ctx, cancel := context.WithCancel(c.as(clientRoles))
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			var last [4][]byte
			for n := 0; ctx.Err() == nil; n++ {
				user := fmt.Sprint("load", i)
				resp, err := pb.NewEventServiceClient(c.conn).Observe(ctx,
					&pb.ObserveRequest{Event: markedEventOf(user, fmt.Sprint("load-", i, "-", n))})
				if err != nil {
					continue
				}
				req := markedRequest(user)
				req.SessionToken = resp.GetSessionToken()
				last[n%len(last)] = req.SessionToken
				_, _ = pb.NewRecommenderServiceClient(c.conn).Recommend(ctx, req)
			}
			for _, token := range last {
				if token != nil {
					c.session(token)
				}
			}
		})
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// quit lets the process print its goroutines and end, while calls run and a stream is open.
func (c *canary) quit() {
	stream := check.Get(pb.NewEventServiceClient(c.conn).StreamObserve(c.as(clientRoles)))(c.t)
	for i := range uint64(200) {
		check.Must(c.t, stream.Send(&pb.StreamObserveRequest{Sequence: i + 1, SessionTokens: true,
			Event: markedEventOf("quit", fmt.Sprint("quit", i))}))
	}
	resp := check.Get(stream.Recv())(c.t)
	for _, token := range resp.GetSessionTokens() {
		c.session(token.GetSessionToken())
	}
	check.Must(c.t, c.p.Signal(syscall.SIGQUIT))
	<-c.p.Exited()
}

// pages reads all that the ops listener has, while calls run.
func (c *canary) pages() {
	defer c.load()()
	for _, path := range []string{"/metrics", "/readyz", "/livez", "/debug/pprof/cmdline",
		"/debug/pprof/goroutine?debug=2", "/debug/pprof/goroutine?debug=1", "/debug/pprof/goroutine",
		"/debug/pprof/heap?debug=1", "/debug/pprof/heap", "/debug/pprof/allocs",
		"/debug/pprof/block", "/debug/pprof/mutex", "/debug/pprof/threadcreate?debug=1",
		"/debug/pprof/profile?seconds=1", "/debug/pprof/trace?seconds=1"} {
		page := c.p.page(c.t, path)
		if z, err := gzip.NewReader(bytes.NewReader([]byte(page))); err == nil {
			page = string(check.Get(io.ReadAll(z))(c.t))
		}
		if page == "" {
			c.t.Errorf("%s is empty", path)
		}
		c.show(path, page)
	}
}
