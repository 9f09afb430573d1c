// Package httpjson serves the methods of clients as JSON over HTTP: their protocol messages in the
// JSON form of Protocol Buffers, under the paths of api/http.yaml. It is a client of the gRPC
// server, so a call has the same checks, limits and errors on either way.
//
// Names of fields are in lower camel case, and are taken in either case. Numbers of 64 bits are
// strings, as JSON's numbers do not hold them. Fields with their default value are written too. An
// error is a google.rpc.Status, and its HTTP status follows from the gRPC code. A stream of answers
// is a line of JSON for each. What a call does not take is refused, in a query as in a body.
//
// The files below gsimc, and openapi.swagger.json, are generated: make generate.
package httpjson

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server/internal/admission"
	gateway "github.com/gsimc/gsimc/server/internal/httpjson/gsimc/v1"
)

//go:embed openapi.swagger.json
var openAPI []byte

// Limits are the bounds of what clients make the handler hold.
type Limits struct {
	Body     int           // bytes of a request's body, at most
	Bodies   int           // bytes of all bodies under way, and again of what they become, about
	BodyTime time.Duration // for a body to come
	// Known reports whether the values of the header Authorization are those of somebody who may
	// send a body.
	Known func(authorization []string) bool
	// Metadata returns metadata for the call of a request. Clients cannot set these names.
	Metadata func(*http.Request) metadata.MD
}

// decodedFactor is how much larger the messages of a body may be than its text: lists of empty
// objects become 45 times as large.
const decodedFactor = 45

// NewHandler returns the handler of all paths. Calls go to conn.
func NewHandler(
	ctx context.Context, conn grpc.ClientConnInterface, l Limits,
) (http.Handler, error) {
	all, err := readRoutes(openAPI)
	if err != nil {
		return nil, err
	}
	mux := runtime.NewServeMux(
		runtime.WithMiddlewares(all.check),
		runtime.WithIncomingHeaderMatcher(named),
		runtime.WithMetadata(func(_ context.Context, r *http.Request) metadata.MD {
			return l.Metadata(r)
		}),
		runtime.WithOutgoingHeaderMatcher(requestIDOnly),
		runtime.WithErrorHandler(writeError),
		runtime.WithRoutingErrorHandler(writeRoutingError),
		// An id, which is one part of a path, may contain a slash as %2F.
		runtime.WithUnescapingMode(runtime.UnescapingModeAllExceptSlash),
		runtime.WithMarshalerOption(runtime.MIMEWildcard, lines{&runtime.JSONPb{
			MarshalOptions: protojson.MarshalOptions{EmitDefaultValues: true},
		}}))
	err = errors.Join(
		gateway.RegisterRecommenderServiceHandlerClient(ctx, mux,
			pb.NewRecommenderServiceClient(conn)),
		gateway.RegisterEventServiceHandlerClient(ctx, mux, pb.NewEventServiceClient(conn)),
		gateway.RegisterUserServiceHandlerClient(ctx, mux, pb.NewUserServiceClient(conn)),
		gateway.RegisterItemServiceHandlerClient(ctx, mux, pb.NewItemServiceClient(conn)))
	if err != nil {
		return nil, err
	}
	calls := newBodies(mux, l)
	// No ServeMux, which would redirect a path with an empty id to another method.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		read := r.Method == http.MethodGet || r.Method == http.MethodHead
		if !read || r.URL.Path != "/openapi.json" {
			calls.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(openAPI) // an error means that the client has gone
	}), nil
}

// lines writes each message of a stream as a line of its own, and an error that ends the stream as
// {"error": …}. The library would wrap the messages as well.
type lines struct{ *runtime.JSONPb }

// Marshal implements [runtime.Marshaler].
func (l lines) Marshal(v any) ([]byte, error) {
	if wrapped, ok := v.(map[string]any); ok && len(wrapped) == 1 {
		if message, ok := wrapped["result"]; ok {
			v = message
		}
	}
	return l.JSONPb.Marshal(v)
}

// named are the headers that become metadata: the name of the call and the trace that it is part of
// (W3C Trace Context). Authorization and Grpc-Timeout are taken besides.
func named(header string) (string, bool) {
	switch name := strings.ToLower(header); name {
	case "x-request-id", "traceparent", "tracestate":
		return name, true
	}
	return "", false
}

// requestIDOnly keeps other metadata from becoming headers.
func requestIDOnly(header string) (string, bool) {
	return "X-Request-Id", strings.EqualFold(header, "X-Request-Id")
}

// bodies reads the body of a request, within bounds, before the handler that it serves. What it is
// decoded to has a bound of its own: those who wait for room there hold room for bodies already.
type bodies struct {
	next            http.Handler
	limits          Limits
	budget, decoded *admission.Budget
}

func newBodies(next http.Handler, l Limits) *bodies {
	return &bodies{next: next, limits: l, budget: admission.NewBudget(l.Bodies),
		decoded: admission.NewBudget(l.Bodies)}
}

// ServeHTTP implements [http.Handler].
func (b *bodies) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		b.next.ServeHTTP(w, r)
		return
	}
	if !b.limits.Known(r.Header.Values("Authorization")) {
		refuse(w, &refusal{http.StatusUnauthorized, codes.Unauthenticated, "UNAUTHENTICATED",
			"this server wants a token that it knows, as header Authorization: Bearer TOKEN"})
		return
	}
	body, err := b.read(w, r)
	defer b.budget.Give(cap(body))
	if err != nil {
		refuse(w, err)
		return
	}
	decoded := decodedFactor * len(body)
	if b.decoded.Take(r.Context(), decoded) != nil {
		return // the client has gone
	}
	defer b.decoded.Give(decoded)
	r.Body = io.NopCloser(bytes.NewReader(body))
	b.next.ServeHTTP(w, r)
}

// read returns the body; its capacity is taken from the budget, after an error too.
func (b *bodies) read(w http.ResponseWriter, r *http.Request) (body []byte, err *refusal) {
	ctx, cancel := context.WithTimeout(r.Context(), b.limits.BodyTime)
	defer cancel()
	// It fails for connections without deadlines only, which a listener does not have.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(b.limits.BodyTime))
	const first = 4 << 10
	for size := first; ; size *= 2 {
		if err := b.budget.Take(ctx, size); err != nil {
			return body, &refusal{http.StatusTooManyRequests, codes.ResourceExhausted,
				"OVERLOADED", "the server has as many requests as it can hold; nothing was done"}
		}
		longer := make([]byte, len(body), size)
		copy(longer, body)
		b.budget.Give(cap(body))
		body = longer
		n, ioErr := io.ReadFull(r.Body, body[len(body):size])
		body = body[:len(body)+n]
		switch {
		case len(body) > b.limits.Body:
			return body, &refusal{http.StatusRequestEntityTooLarge, codes.ResourceExhausted,
				"BODY_TOO_LARGE", fmt.Sprintf("the body has more than %d bytes", b.limits.Body)}
		case ioErr == nil:
		case ended(ioErr) && (r.ContentLength < 0 || int64(len(body)) == r.ContentLength):
			return body, nil
		default:
			return body, &refusal{http.StatusRequestTimeout, codes.InvalidArgument,
				"BODY_INCOMPLETE", "the body did not come whole in time"}
		}
	}
}

// ended reports whether a reader had fewer bytes than were wanted.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
