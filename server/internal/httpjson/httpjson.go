// Package httpjson serves the methods of clients as JSON over HTTP: their protocol messages in the
// JSON form of Protocol Buffers, under the paths of api/http.yaml. It calls the services as clients
// of gRPC do, so a call has the same checks, limits and errors on either way.
//
// Names of fields are in lower camel case, and are taken in either case. Numbers of 64 bits are
// strings, as JSON's numbers do not hold them. Fields with their default value are written too. An
// error is a google.rpc.Status, and its HTTP status follows from the gRPC code. A stream of answers
// is a line of JSON for each, and {"error": …} if it breaks off. What a call does not take is
// refused, in a query as in a body.
//
// The files below gsimc, and openapi.json, are generated: make generate.
package httpjson

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server/internal/admission"
	gateway "github.com/gsimc/gsimc/server/internal/httpjson/gsimc/v1"
)

//go:embed openapi.json
var openAPI []byte

// Limits are the bounds of what clients make the handler hold. Those of answers that are not read
// are the listener's, see [admission.Limit].
type Limits struct {
	Gate     *admission.Gate // which calls pass too
	Body     int             // bytes of a request's body, at most
	BodyTime time.Duration   // for a body to come and to be decoded
	Decoded  int             // bytes of what bodies are decoded to at a time, about
	// Known returns nil if the values of the header Authorization are those of somebody who may
	// send a body.
	Known func(authorization []string) error
	// Metadata returns metadata for the call of a request. Clients cannot set these names.
	Metadata func(*http.Request) metadata.MD
}

// NewHandler returns the handler of all paths. Calls go to conn.
func NewHandler(
	ctx context.Context, conn grpc.ClientConnInterface, l Limits,
) (http.Handler, error) {
	all, err := readRoutes(openAPI)
	if err != nil {
		return nil, err
	}
	mux := runtime.NewServeMux(
		runtime.WithMiddlewares(all.check, newBodies(all, l).receive),
		runtime.WithForwardResponseOption(owe),
		// A POST is no GET or DELETE in disguise, which a proxy would not know.
		runtime.WithDisablePathLengthFallback(),
		runtime.WithIncomingHeaderMatcher(named),
		runtime.WithMetadata(func(_ context.Context, r *http.Request) metadata.MD {
			return l.Metadata(r)
		}),
		runtime.WithOutgoingHeaderMatcher(requestIDOnly),
		runtime.WithErrorHandler(writeError),
		runtime.WithStreamErrorHandler(streamError),
		runtime.WithRoutingErrorHandler(all.refuseMethod),
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
	// No ServeMux, which would redirect a path with an empty id to another method.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := &answerWriter{ResponseWriter: w, answer: admission.AnswerOf(r.Context())}
		defer answer.end()
		read := r.Method == http.MethodGet || r.Method == http.MethodHead
		if !read || r.URL.Path != "/openapi.json" {
			call(mux, answer, r.WithContext(context.WithValue(r.Context(), answerKey{}, answer)))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = answer.Write(openAPI) // an error means that the client has gone
	}), nil
}

// call answers a call.
func call(mux http.Handler, w http.ResponseWriter, r *http.Request) {
	private(w.Header())
	mux.ServeHTTP(w, r)
}

// private lets nobody keep an answer, which may be about a user, or take it for a page.
func private(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
}

var past = time.Unix(1, 0)

// EndUnread guards all of a listener: a connection ends with a request whose body is not read
// whole, at once, and not when the body has come. Nothing behind it is taken for a request.
func EndUnread(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hasBody(r) || r.ProtoMajor != 1 { // a stream of HTTP/2 ends by itself
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Connection", "close") // until the body is read whole
		h.ServeHTTP(w, r)
		if w.Header().Get("Connection") != "" {
			_ = http.NewResponseController(w).SetReadDeadline(past)
		}
	})
}

// lines writes each message of a stream as a line of its own, and an error behind the first one as
// {"error": …}, which tells it from them. The library would wrap the messages as well.
type lines struct{ *runtime.JSONPb }

// Marshal implements [runtime.Marshaler].
func (l lines) Marshal(v any) ([]byte, error) {
	if wrapped, ok := v.(map[string]any); ok && len(wrapped) == 1 {
		if message, ok := wrapped["result"]; ok {
			v = message
		}
	}
	if message, ok := v.(proto.Message); ok {
		return l.text(message)
	}
	return l.JSONPb.Marshal(v)
}

// StreamContentType implements [runtime.StreamContentType].
func (lines) StreamContentType(any) string { return "application/x-ndjson" }

// drafts are buffers for long texts: what a text of megabytes leaves behind as it grows is five
// times as much. Short ones would keep the buffers of long ones alive.
var drafts = sync.Pool{New: func() any { return new([]byte) }}

// longText is the size of a message, in bytes, from which on its text is long.
const longText = 64 << 10

// text returns the text of a message. The library would copy it once more.
func (l lines) text(message proto.Message) ([]byte, error) {
	if proto.Size(message) < longText {
		return l.append(nil, message)
	}
	draft := drafts.Get().(*[]byte)
	defer drafts.Put(draft)
	text, err := l.append((*draft)[:0], message)
	*draft = text
	return bytes.Clone(text), err
}

func (l lines) append(b []byte, message proto.Message) ([]byte, error) {
	if list, ok := message.(*pb.RecommendResponse); ok {
		return l.appendList(b, list)
	}
	return l.MarshalOptions.MarshalAppend(b, message)
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
