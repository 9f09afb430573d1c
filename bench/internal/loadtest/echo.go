package loadtest

import (
	"context"
	"errors"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// Echo is a gRPC server that reads requests of Recommend and Observe and gives all requests of a
// kind the same answer, without any work in between. It measures the cost of transport and messages
// alone.
type Echo struct {
	pb.UnimplementedRecommenderServiceServer
	pb.UnimplementedEventServiceServer
	list     pb.RecommendResponse
	observed pb.ObserveResponse
}

// NewEcho returns an echo with the given encoded answers, those of a real server.
func NewEcho(recommend, observe []byte) (*Echo, error) {
	e := &Echo{}
	if err := proto.Unmarshal(recommend, &e.list); err != nil {
		return nil, fmt.Errorf("the answer to Recommend: %w", err)
	}
	if err := proto.Unmarshal(observe, &e.observed); err != nil {
		return nil, fmt.Errorf("the answer to Observe: %w", err)
	}
	return e, nil
}

// Recommend answers with the list.
func (e *Echo) Recommend(context.Context, *pb.RecommendRequest) (*pb.RecommendResponse, error) {
	return &e.list, nil
}

// Observe answers with the acknowledgement.
func (e *Echo) Observe(context.Context, *pb.ObserveRequest) (*pb.ObserveResponse, error) {
	return &e.observed, nil
}

// Serve answers on l until ctx ends.
func (e *Echo) Serve(ctx context.Context, l net.Listener) error {
	s := grpc.NewServer()
	pb.RegisterRecommenderServiceServer(s, e)
	pb.RegisterEventServiceServer(s, e)
	defer context.AfterFunc(ctx, s.Stop)()
	if err := s.Serve(l); !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil // ctx ended before it began
}
