package main

import (
	"bytes"
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// A breakingConn sends what no Go client would: notUTF8 in a string arrives as bytes that are not
// UTF-8, and a message with cutHere in it is cut off there.
type breakingConn struct{ grpc.ClientConnInterface }

const (
	notUTF8 = "NOT-UTF8"
	cutHere = "CUT-HERE"
)

func (c breakingConn) Invoke(
	ctx context.Context, method string, req, resp any, opts ...grpc.CallOption,
) error {
	return c.ClientConnInterface.Invoke(ctx, method, req, resp, append(opts, breaking())...)
}

func (c breakingConn) NewStream(
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
	broken := bytes.ReplaceAll(data.Materialize(), []byte(notUTF8),
		bytes.Repeat([]byte{0xff}, len(notUTF8)))
	broken, _, _ = bytes.Cut(broken, []byte(cutHere))
	return mem.BufferSlice{mem.SliceBuffer(broken)}, nil
}
