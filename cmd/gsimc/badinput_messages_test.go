package main

import (
	"bytes"
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
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

// badMessages cannot be decoded, or are for a method that there is not.
func badMessages() []badRequest {
	var cases []badRequest
	add := func(input, field string, call func(context.Context, grpc.ClientConnInterface) refusal) {
		cases = append(cases, invalid(input, field,
			func(ctx context.Context, conn grpc.ClientConnInterface) refusal {
				return call(ctx, breakingConn{conn})
			}))
	}
	prefixes := map[string]string{"Observe": "event.", "BatchObserve": "events[1].",
		"StreamObserve": "event."}
	for _, way := range eventCalls {
		send := func(e *pb.Event) func(context.Context, grpc.ClientConnInterface) refusal {
			return func(ctx context.Context, conn grpc.ClientConnInterface) refusal {
				return way.send(ctx, conn, e)
			}
		}
		for field, e := range map[string]*pb.Event{
			"event_id":   {EventId: notUTF8, UserId: "refused", ItemId: "1"},
			"user_id":    {UserId: notUTF8, ItemId: "1"},
			"item_id":    {UserId: "refused", ItemId: notUTF8},
			"event_type": {UserId: "refused", ItemId: "1", EventType: notUTF8},
		} {
			add(way.name+": "+field+" not UTF-8", prefixes[way.name]+field, send(e))
		}
		add(way.name+": message cut off", "gsimc.v1."+way.name+"Request",
			send(&pb.Event{UserId: "refused", ItemId: cutHere}))
	}
	type call = func(context.Context, grpc.ClientConnInterface) refusal
	recommend := func(r *pb.RecommendRequest) call {
		return func(ctx context.Context, conn grpc.ClientConnInterface) refusal {
			_, err := pb.NewRecommenderServiceClient(conn).Recommend(ctx, r)
			return refusalOf(err)
		}
	}
	user := func(id string) *pb.RecommendRequest {
		return &pb.RecommendRequest{Subject: &pb.RecommendRequest_UserId{UserId: id}}
	}
	add("Recommend: user_id not UTF-8", "user_id", recommend(user(notUTF8)))
	add("Recommend: message cut off", "gsimc.v1.RecommendRequest", recommend(user(cutHere)))
	add("Recommend: deny_item_ids not UTF-8", "filter.deny_item_ids[1]",
		recommend(&pb.RecommendRequest{Filter: &pb.ItemFilter{DenyItemIds: []string{"1",
			notUTF8}}}))
	add("DeleteUser: user_id not UTF-8", "user_id",
		func(ctx context.Context, conn grpc.ClientConnInterface) refusal {
			_, err := pb.NewUserServiceClient(conn).DeleteUser(ctx,
				&pb.DeleteUserRequest{UserId: notUTF8})
			return refusalOf(err)
		})
	for input, method := range map[string]string{
		"unknown method":  "/gsimc.v1.EventService/NoSuchMethod",
		"unknown service": "/gsimc.v9.EventService/Observe",
	} {
		cases = append(cases, badRequest{input: input, code: codes.Unimplemented,
			reason: "UNKNOWN_METHOD",
			call: func(ctx context.Context, conn grpc.ClientConnInterface) refusal {
				return refusalOf(conn.Invoke(ctx, method, &pb.ObserveRequest{},
					&pb.ObserveResponse{}))
			}})
	}
	return cases
}
