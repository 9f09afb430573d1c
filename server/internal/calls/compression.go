package calls

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // of requests: it registers itself
)

// answerPlain keeps the library from compressing the answers of a call as its request was. Within
// one data centre bytes cost less than processor time, and the bound on answers that clients do not
// read counts the bytes that the codec has written. It must run before the first answer.
func answerPlain(ctx context.Context) {
	stream := grpc.ServerTransportStreamFromContext(ctx)
	if s, ok := stream.(interface{ RecvCompress() string }); ok && s.RecvCompress() == "" {
		return
	}
	// The only error is that the answer has begun, which then is compressed.
	_ = grpc.SetSendCompressor(ctx, encoding.Identity)
}
