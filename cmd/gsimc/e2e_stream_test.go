package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"testing"

	"google.golang.org/grpc"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
)

// streamEvents sends events through one StreamObserve and returns how many of
// them, from the first on, were acknowledged. It ends early, with an error, when
// the stream breaks. told, if not nil, is called with every acknowledgement.
func streamEvents(
	ctx context.Context, conn grpc.ClientConnInterface, events []*pb.Event, told func(acked int),
) (acked int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := pb.NewEventServiceClient(conn).StreamObserve(ctx)
	if err != nil {
		return 0, err
	}
	go func() {
		for i, e := range events {
			if stream.Send(&pb.StreamObserveRequest{Sequence: uint64(i) + 1, Event: e}) != nil {
				return // Recv tells why
			}
		}
		_ = stream.CloseSend()
	}()
	for {
		ack, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return acked, nil
		}
		if err != nil {
			return acked, err
		}
		for _, x := range ack.GetExceptions() {
			if x.GetResult().GetDisposition() == pb.EventDisposition_EVENT_DISPOSITION_REJECTED {
				return acked, fmt.Errorf("event %d was rejected: %v", x.GetSequence(),
					x.GetResult().GetError())
			}
		}
		acked = int(ack.GetAckedSequence())
		if told != nil {
			told(acked)
		}
	}
}

// bitAnswer is an answer to Recommend with the bits of its scores.
type bitAnswer struct {
	Revision uint64
	Items    []string
	Scores   []uint64
	Source   pb.ResultSource
}

// listTo is the answer to Recommend for a user.
func listTo(
	t *testing.T, conn grpc.ClientConnInterface, user string, size int32,
) *pb.RecommendResponse {
	t.Helper()
	request := &pb.RecommendRequest{PageSize: size,
		Subject: &pb.RecommendRequest_UserId{UserId: user}}
	return check.Get(pb.NewRecommenderServiceClient(conn).Recommend(t.Context(), request))(t)
}

func recommendTo(t *testing.T, conn grpc.ClientConnInterface, user string, size int32) bitAnswer {
	t.Helper()
	resp := listTo(t, conn, user, size)
	a := bitAnswer{Revision: resp.GetUserRevision()}
	for _, i := range resp.GetItems() {
		a.Items = append(a.Items, i.GetItemId())
		a.Scores = append(a.Scores, math.Float64bits(i.GetScore()))
		a.Source = i.GetSource()
	}
	return a
}
