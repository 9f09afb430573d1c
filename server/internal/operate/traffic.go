package operate

import (
	"context"
	"fmt"
	"log/slog"

	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server/internal/arms"
	"github.com/gsimc/gsimc/server/internal/calls"
	"github.com/gsimc/gsimc/server/internal/valid"
)

// SetTraffic implements AdminService. Shares that are what they were change nothing, so that the
// call may be repeated.
func (s *service) SetTraffic(
	ctx context.Context, req *pb.SetTrafficRequest,
) (*pb.SetTrafficResponse, error) {
	if err := valid.Traffic(req, s.Arms.Names()[1:]); err != nil {
		return nil, err
	}
	s.traffic.Lock()
	defer s.traffic.Unlock()
	before := s.shares()
	others := othersOf(before, req.GetShares())
	if sum, fits := arms.Sum(others); !fits {
		return nil, valid.Bad("shares", fmt.Sprintf("would be %v percent in all, with those of "+
			"the arms that are not named; at most 100 are allowed", sum))
	}
	s.Arms.Split.SetShares(others)
	after := s.shares()
	resp := &pb.SetTrafficResponse{PreviousShares: before}
	if proto.Equal(resp, &pb.SetTrafficResponse{PreviousShares: after}) {
		return resp, nil
	}
	s.Credits.Restart()
	s.Log.LogAttrs(ctx, slog.LevelWarn,
		"audit: arms have other shares: their comparison begins anew", calls.WithIDs(ctx,
			[]slog.Attr{groupOf("before", before), groupOf("after", after),
				slog.String("caller", s.Caller(ctx))})...)
	return resp, nil
}

// shares are those of all arms, main's first, dropped or not.
func (s *service) shares() (all []*pb.ArmShare) {
	for _, a := range s.Arms.All() {
		all = append(all, &pb.ArmShare{Arm: a.Name,
			SharePercent: proto.Float64(s.Arms.Split.Given(a.Index))})
	}
	return all
}

// othersOf are the arms beside main with the shares that are wanted, or else those of before.
func othersOf(before, wanted []*pb.ArmShare) (others []arms.Arm) {
	for _, b := range before[1:] {
		a := arms.Arm{Name: b.GetArm(), Share: b.GetSharePercent()}
		for _, w := range wanted {
			if w.GetArm() == a.Name {
				a.Share = w.GetSharePercent()
			}
		}
		others = append(others, a)
	}
	return others
}

// groupOf shows shares in the log. Arms may have the name of another field of a line.
func groupOf(name string, shares []*pb.ArmShare) slog.Attr {
	attrs := make([]any, 0, len(shares))
	for _, s := range shares {
		attrs = append(attrs, slog.Float64(s.GetArm(), s.GetSharePercent()))
	}
	return slog.Group(name, attrs...)
}
