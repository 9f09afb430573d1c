package calls

import (
	"context"
	"log/slog"

	"google.golang.org/grpc/metadata"

	"github.com/gsimc/gsimc/server/internal/tracing"
)

// RequestIDKey is the key of the metadata by which a client names a call. The answer repeats it,
// and so do the lines of the log about the call.
const RequestIDKey = "x-request-id"

// MaxRequestID is the length of the longest name.
const MaxRequestID = 128

// requestID is the name that a client gave to a call; empty if it gave none, more than one, or one
// that is too long or has other than printable ASCII characters.
func requestID(ctx context.Context) string {
	ids := metadata.ValueFromIncomingContext(ctx, RequestIDKey)
	if len(ids) != 1 || len(ids[0]) > MaxRequestID {
		return ""
	}
	for _, c := range []byte(ids[0]) {
		if c < ' ' || c > '~' {
			return ""
		}
	}
	return ids[0]
}

// repeatRequestID sends the name of a call back with its answer. setHeader is that of the call.
func repeatRequestID(ctx context.Context, setHeader func(metadata.MD) error) {
	if id := requestID(ctx); id != "" {
		_ = setHeader(metadata.Pairs(RequestIDKey, id)) // fails if an answer has gone already
	}
}

// WithIDs adds the name of a call and the id of its trace, if it has them, to what the log says of
// it.
func WithIDs(ctx context.Context, detail []slog.Attr) []slog.Attr {
	if id := requestID(ctx); id != "" {
		detail = append(detail, slog.String("request_id", id))
	}
	if id := tracing.ID(ctx); id != "" {
		detail = append(detail, slog.String("trace_id", id))
	}
	return detail
}
