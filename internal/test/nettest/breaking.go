package nettest

import (
	"bytes"
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// A BreakingConn sends what no Go client would: NotUTF8 in a string arrives as bytes that are not
// UTF-8, and a message with CutHere in it is cut off there.
type BreakingConn struct{ grpc.ClientConnInterface }

// What a [BreakingConn] breaks.
const (
	NotUTF8 = "NOT-UTF8"
	CutHere = "CUT-HERE"
)

// Invoke makes a call.
func (c BreakingConn) Invoke(
	ctx context.Context, method string, req, resp any, opts ...grpc.CallOption,
) error {
	return c.ClientConnInterface.Invoke(ctx, method, req, resp, append(opts, breaking())...)
}

// NewStream begins a stream.
func (c BreakingConn) NewStream(
	ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return c.ClientConnInterface.NewStream(ctx, desc, method, append(opts, breaking())...)
}

func breaking() grpc.CallOption {
	return grpc.ForceCodecV2(breakingCodec{encoding.GetCodecV2(grpcproto.Name)})
}

type breakingCodec struct{ encoding.CodecV2 }

func (c breakingCodec) Marshal(v any) (mem.BufferSlice, error) {
	data, err := c.CodecV2.Marshal(v)
	if err != nil {
		return nil, err
	}
	broken := bytes.ReplaceAll(data.Materialize(), []byte(NotUTF8),
		bytes.Repeat([]byte{0xff}, len(NotUTF8)))
	broken, _, _ = bytes.Cut(broken, []byte(CutHere))
	return mem.BufferSlice{mem.SliceBuffer(broken)}, nil
}
