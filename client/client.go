package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/fault"
)

// Options say how to reach a server. Only the address is needed.
type Options struct {
	Address string        // HOST:PORT, or unix:/PATH
	Access  Access        // the zero value: plain text, without a token
	Timeout time.Duration // of a call whose context has no deadline; 0: none. Streams have none.
	Retry   Retry         // the zero value: [DefaultRetry]
}

// Retry says how a call that found no server is repeated, within its deadline. Only calls that may
// run twice are repeated: Recommend changes nothing, and the server knows an event that has an id
// or a time.
type Retry struct {
	// at most, the first one included; 1: the call is not repeated; gRPC makes at most 5
	Attempts int
	// First is the wait before the second attempt. It doubles before each further attempt, up to
	// Last. Both must be above 0 if calls are repeated.
	First, Last time.Duration
}

// DefaultRetry is the policy of options without one.
func DefaultRetry() Retry {
	return Retry{Attempts: 4, First: 50 * time.Millisecond, Last: 500 * time.Millisecond}
}

// validate refuses waits that gRPC does not take.
func (r Retry) validate() error {
	if r.Attempts <= 1 {
		return nil
	}
	var faults []error
	if r.First <= 0 {
		faults = append(faults, fault.New("First", r.First, "more than 0s"))
	}
	if r.Last <= 0 {
		faults = append(faults, fault.New("Last", r.Last, "more than 0s"))
	}
	return errors.Join(faults...)
}

// pings detect, during a long call, a peer that vanished without closing the connection, such as a
// machine that lost its power. A gsimc server refuses pings that are less than 10 s apart.
var pings = keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 10 * time.Second}

// Client is a connection to one server.
type Client struct {
	opt  Options
	conn *grpc.ClientConn

	mu        sync.Mutex
	connected bool  // a connection stood once
	dialError error // of the last attempt to connect; nil: it succeeded, or there was none
}

// Dial returns a client of the server at opt.Address. The connection is made by the first call. The
// error is a [fault.Fault] of the field Address, Token, First or Last.
func Dial(opt Options) (*Client, error) {
	if opt.Retry == (Retry{}) {
		opt.Retry = DefaultRetry()
	}
	if err := errors.Join(opt.Retry.validate(), validAddress(opt.Address)); err != nil {
		return nil, err
	}
	c := &Client{opt: opt}
	options, err := opt.Access.DialOptions(opt.Address)
	if err != nil {
		return nil, err
	}
	options = append(options,
		grpc.WithTransportCredentials(watching{opt.Access.credentials(), c.cannotConnect}),
		grpc.WithKeepaliveParams(pings), grpc.WithContextDialer(c.dial),
		grpc.WithDefaultServiceConfig(opt.Retry.ServiceConfig()),
		grpc.WithStatsHandler(attempts{}), grpc.WithUnaryInterceptor(counted))
	if strings.HasPrefix(opt.Address, unixPrefix) {
		options = append(options, grpc.WithAuthority("localhost"))
	}
	if opt.Timeout > 0 {
		options = append(options, grpc.WithChainUnaryInterceptor(withTimeout(opt.Timeout)))
	}
	// The dialer resolves names, so that it sees every reason for which there is no connection.
	conn, err := grpc.NewClient("passthrough:///"+opt.Address, options...)
	if err != nil {
		return nil, &fault.Fault{Field: "Address", Got: opt.Address, Err: err}
	}
	c.conn = conn
	return c, nil
}

// validAddress returns the fault of an address at which no server can be.
func validAddress(address string) error {
	if strings.HasPrefix(address, unixPrefix) {
		return nil
	}
	bad := fault.New("Address", strconv.Quote(address), "HOST:PORT")
	_, port, err := net.SplitHostPort(address)
	switch {
	case strings.Contains(address, "://"):
		bad.Problem = "begins with a scheme, which does not belong there"
	case err != nil && strings.Count(address, ":") > 1 && address[0] != '[':
		bad.Problem = "has more than one colon: an IPv6 address needs [ ] around it"
	case err != nil || port == "":
		bad.Problem = "has no port"
	default:
		return nil
	}
	return bad
}

// Conn returns the connection, for the clients of the generated package.
func (c *Client) Conn() grpc.ClientConnInterface { return c.conn }

// Address returns the address of the server.
func (c *Client) Address() string { return c.opt.Address }

// Close closes the connection. Calls in flight fail.
func (c *Client) Close() error { return c.conn.Close() }

// dial connects and remembers the error, if any.
func (c *Client) dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := dial(ctx, address)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dialError = err
	c.connected = c.connected || err == nil
	return conn, err
}

func dial(ctx context.Context, address string) (net.Conn, error) {
	network := "tcp"
	if path, unix := strings.CutPrefix(address, unixPrefix); unix {
		network, address = "unix", path
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// cannotConnect remembers why a handshake failed.
func (c *Client) cannotConnect(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dialError = err
}

// dialing returns the error of the last attempt to connect, and whether a connection stood once.
//
//nolint:revive,staticcheck // the error is the value
func (c *Client) dialing() (err error, connected bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dialError, c.connected
}

// withTimeout gives calls without a deadline one.
func withTimeout(timeout time.Duration) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
		invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		if _, ok := ctx.Deadline(); !ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, timeout)
			defer cancel()
		}
		return invoke(ctx, method, req, reply, cc, opts...)
	}
}

// ServiceConfig returns the policy as the JSON of gRPC, for connections that are made without
// [Dial], such as those to several servers. A policy that repeats nothing is "{}".
func (r Retry) ServiceConfig() string { return serviceConfig(r.methodConfig()) }

// methodConfig returns the part of the JSON of gRPC that says which calls are repeated.
func (r Retry) methodConfig() map[string]any {
	if r.Attempts <= 1 {
		return map[string]any{}
	}
	type method struct {
		Service string `json:"service"`
		Method  string `json:"method,omitempty"`
	}
	service := func(fullMethod string) string { return strings.Split(fullMethod, "/")[1] }
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.9fs", d.Seconds()) }
	return map[string]any{"methodConfig": []any{map[string]any{
		"name": []method{
			{Service: service(pb.RecommenderService_Recommend_FullMethodName)},
			{Service: service(pb.EventService_Observe_FullMethodName), Method: "Observe"},
		},
		"retryPolicy": map[string]any{
			"maxAttempts": r.Attempts, "initialBackoff": seconds(r.First),
			"maxBackoff":        seconds(r.Last),
			"backoffMultiplier": 2, "retryableStatusCodes": []string{"UNAVAILABLE"},
		},
	}}}
}

func serviceConfig(config map[string]any) string {
	text, err := json.Marshal(config)
	if err != nil {
		panic(err) // maps of texts and numbers only
	}
	return string(text)
}
