package server

import (
	"context"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// Every method of the .proto files is served, and nothing else under the names of their services: a
// description made by hand cannot fall behind.
func TestServicesAreThoseOfTheProtocol(t *testing.T) {
	ts := start(t, setup{})
	served := ts.grpc.GetServiceInfo()
	maps.Copy(served, ts.adminGRPC.GetServiceInfo())
	for _, file := range []protoreflect.FileDescriptor{
		pb.File_gsimc_v1_recommender_service_proto, pb.File_gsimc_v1_event_service_proto,
		pb.File_gsimc_v1_user_service_proto, pb.File_gsimc_v1_admin_service_proto,
		pb.File_gsimc_v1_item_service_proto,
	} {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			want := map[string]grpc.MethodInfo{}
			for j := range service.Methods().Len() {
				m := service.Methods().Get(j)
				name := string(m.Name())
				want[name] = grpc.MethodInfo{Name: name, IsClientStream: m.IsStreamingClient(),
					IsServerStream: m.IsStreamingServer()}
			}
			got := map[string]grpc.MethodInfo{}
			for _, m := range served[string(service.FullName())].Methods {
				got[m.Name] = m
			}
			same(t, want, got, "%s (-protocol +served)", service.FullName())
			same(t, file.Path(), served[string(service.FullName())].Metadata,
				"%s is described by", service.FullName())
		}
	}
}

// The answer that is encoded by hand has the bytes of the message that Recommend returns.
func TestRecommendBothWays(t *testing.T) {
	ts := startNamed(t, "learned")
	for _, i := range []int{4, 9, 20} {
		ts.observe(t, newEvent("ann", i))
	}
	service := ts.services.recommend
	for name, req := range map[string]*pb.RecommendRequest{
		"user": forUser("ann"), "nobody": forUser("nobody"),
		"history":       explaining(forHistory(1, 2, 3), 2),
		"draw":          exploring(forUser("ann"), thompson(3, 1), 10),
		"unknown items": forHistory(testItems+1, 2),
	} {
		for _, packed := range []bool{false, true} {
			req.Packed = packed
			message, err := service.Recommend(ctx(t), req)
			must(t, err)
			want, err := proto.Marshal(message)
			must(t, err)
			var got []byte
			err = ts.conn.Invoke(ctx(t), pb.RecommenderService_Recommend_FullMethodName, req, &got,
				grpc.ForceCodecV2(bytesCodec{}))
			must(t, err)
			if cmp.Equal(want, got) {
				continue
			}
			var sent pb.RecommendResponse
			must(t, proto.Unmarshal(got, &sent))
			// The uncertainty grows with time, and the clock of the test never stands still.
			message.Uncertainty, sent.Uncertainty = nil, nil
			same(t, message, &sent, "%s, packed %v (-message +encoded)", name, packed)
		}
	}
	if _, err := service.Recommend(context.Background(), &pb.RecommendRequest{}); err == nil {
		t.Error("Recommend takes a request without a subject")
	}
}

// bytesCodec encodes messages and leaves answers as they are.
type bytesCodec struct{ encoding.CodecV2 }

func (bytesCodec) Name() string { return "proto" }

func (bytesCodec) Marshal(v any) (mem.BufferSlice, error) {
	return encoding.GetCodecV2(grpcproto.Name).Marshal(v)
}

func (bytesCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}
