package client

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer/ringhash"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/fault"
)

// routeHeader is the header by which the ring chooses the server of a call: a hash of the user's
// id, so that no id stands in a header. A proxy in front of the servers may choose by it, too.
const routeHeader = "x-gsimc-route"

// RingOptions say how to reach several servers over one store.
type RingOptions struct {
	// Addresses of the servers: HOST:PORT, or unix:/PATH. Or a single dns:///NAME:PORT: all
	// addresses that the name has are servers, such as the pods of a headless Service of
	// Kubernetes. It is looked up again when a connection ends, at most every 30 s, so that new
	// servers are found within the time that a server keeps connections (--max-connection-age, 5
	// minutes).
	Addresses []string
	Access    Access
	Timeout   time.Duration // as of [Options]
	Retry     Retry         // the zero value: [DefaultRetry]
	Hedge     Hedge         // the zero value: no call is hedged
}

// Ring is connections to several servers over one store. The calls about a user go to one of them,
// which has the user's state in memory; when it cannot be reached they go to the next one on a
// ring, and other users stay where they are. Any server may answer any call: where a call goes
// decides how long it takes, and not what the answer is.
type Ring struct {
	conn  *grpc.ClientConn
	hedge *hedger // nil: no call is hedged
}

// DialRing returns a client of the servers at opt.Addresses. The connections are made by calls. The
// error is a [fault.Fault] of the field Addresses, Token, First, Last, Quantile or Budget.
func DialRing(opt RingOptions) (*Ring, error) {
	if len(opt.Addresses) == 0 {
		return nil, fault.New("Addresses", opt.Addresses, "at least one")
	}
	if opt.Retry == (Retry{}) {
		opt.Retry = DefaultRetry()
	}
	if err := opt.Retry.validate(); err != nil {
		return nil, err
	}
	hedge, err := newHedger(opt.Hedge)
	if err != nil {
		return nil, err
	}
	r := &Ring{hedge: hedge}
	target, options, err := opt.servers()
	if err != nil {
		return nil, err
	}
	// A record of the name must not replace the policy.
	options = append(options, grpc.WithDisableServiceConfig(),
		grpc.WithDefaultServiceConfig(ringConfig(opt.Retry)), grpc.WithKeepaliveParams(pings),
		grpc.WithChainUnaryInterceptor(r.route), grpc.WithChainStreamInterceptor(routeStream))
	if opt.Timeout > 0 {
		options = append(options, grpc.WithUnaryInterceptor(withTimeout(opt.Timeout)))
	}
	if r.conn, err = grpc.NewClient(target, options...); err != nil {
		return nil, &fault.Fault{Field: "Addresses", Got: opt.Addresses, Err: err}
	}
	return r, nil
}

// dnsPrefix begins a name whose addresses are those of the servers.
const dnsPrefix = "dns:"

// servers returns the target of the connections and how to reach it.
func (opt *RingOptions) servers() (target string, options []grpc.DialOption, err error) {
	named := slices.ContainsFunc(opt.Addresses,
		func(address string) bool { return strings.HasPrefix(address, dnsPrefix) })
	if named && len(opt.Addresses) > 1 {
		return "", nil, fault.New("Addresses", opt.Addresses, "one "+dnsPrefix+" address alone")
	}
	var state resolver.State
	for _, address := range opt.Addresses {
		if options, err = opt.Access.DialOptions(address); err != nil {
			return "", nil, err
		}
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{
			Addresses: []resolver.Address{{Addr: address, ServerName: serverName(address)}}})
	}
	if named {
		return opt.Addresses[0], options, nil
	}
	list := manual.NewBuilderWithScheme("gsimc")
	list.InitialState(state)
	return list.Scheme() + ":///servers", append(options, grpc.WithResolvers(list),
		grpc.WithContextDialer(dial)), nil
}

// Conn returns the connections as one, for the clients of the generated package and [NewSession].
func (r *Ring) Conn() grpc.ClientConnInterface { return r.conn }

// Close closes the connections. Calls in flight fail.
func (r *Ring) Close() error { return r.conn.Close() }

// ringConfig is the policy of a ring as the JSON of gRPC.
func ringConfig(retry Retry) string {
	config := retry.methodConfig()
	config["loadBalancingConfig"] = []any{map[string]any{
		ringhash.Name: map[string]string{"requestHashHeader": routeHeader}}}
	return serviceConfig(config)
}

// serverName is the name that the certificate of a server must have.
func serverName(address string) string {
	if strings.HasPrefix(address, unixPrefix) {
		return "localhost"
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}

// route sends a call to the server of the user that it is about, and hedges it.
func (r *Ring) route(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
	invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	place := placeOf(req)
	call := func(ctx context.Context, attempt uint64, reply any) error {
		return invoke(withPlace(ctx, place+attempt), method, req, reply, cc, opts...)
	}
	if r.hedge == nil || !r.hedge.mayRunTwice(method) || slices.ContainsFunc(opts, writes) {
		return call(ctx, 0, reply)
	}
	return r.hedge.call(ctx, method, reply, call)
}

// writes tells whether an option is told something by the call, which two calls must not do at
// once.
func writes(opt grpc.CallOption) bool {
	switch opt.(type) {
	case grpc.HeaderCallOption, grpc.TrailerCallOption, grpc.PeerCallOption:
		return true
	}
	return false
}

// routeStream sends a stream, which may be about many users, to any server.
func routeStream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
	stream grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return stream(withPlace(ctx, rand.Uint64()), desc, cc, method, opts...)
}

// withPlace sets the place of a call on the ring. gRPC hashes the text, so neighbouring numbers are
// far from each other.
func withPlace(ctx context.Context, place uint64) context.Context {
	return metadata.AppendToOutgoingContext(ctx, routeHeader, strconv.FormatUint(place, 36))
}

// placeOf is a hash of the id of the user that a request is about, and random without one.
func placeOf(req any) uint64 {
	if of, ok := req.(interface{ GetEvent() *pb.Event }); ok {
		req = of.GetEvent()
	}
	of, ok := req.(interface{ GetUserId() string })
	if !ok || of.GetUserId() == "" {
		return rand.Uint64()
	}
	h := fnv.New64a()
	h.Write([]byte(of.GetUserId())) //nolint:errcheck // a hash does not fail
	return h.Sum64()
}
