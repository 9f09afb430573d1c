package call

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/wire"
)

// armServer is a server and its models.
type armServer struct {
	cli.ServerFlags

	id     string
	models []*pb.ArmModel
}

// ask returns the servers of --server and of --with, which have the same arms.
func (c *Models) ask() ([]armServer, error) {
	servers := []armServer{{ServerFlags: c.ServerFlags}}
	for _, address := range c.With {
		servers = append(servers, armServer{ServerFlags: c.At(address, "--with")})
	}
	for i := range servers {
		s, first := &servers[i], &servers[0]
		if err := s.call(s.list); err != nil {
			return nil, err
		}
		isSame := func(o armServer) bool { return o.id == s.id }
		if at := slices.IndexFunc(servers, isSame); at < i {
			return nil, cli.Flagf(s.Flag(), "%s is the server %s again, which would count double: "+
				"leave it out", s.Server, servers[at].Server)
		}
		if !slices.EqualFunc(s.models, first.models, sameArm) {
			return nil, cli.Flagf(s.Flag(), "%s has other arms than %s", s.Server, first.Server)
		}
	}
	return servers, nil
}

func sameArm(a, b *pb.ArmModel) bool { return a.GetArm() == b.GetArm() }

// sameShares tells whether two answers of a server give its arms the same shares.
func sameShares(a, b armServer) bool {
	return slices.EqualFunc(a.models, b.models, func(a, b *pb.ArmModel) bool {
		return a.GetConfiguredSharePercent() == b.GetConfiguredSharePercent()
	})
}

// call calls the server. Of a further one the error names the flag.
func (s *armServer) call(fn func(context.Context, pb.AdminServiceClient) error) error {
	err := s.Call(func(ctx context.Context, conn grpc.ClientConnInterface) error {
		return fn(ctx, pb.NewAdminServiceClient(conn))
	})
	// A fault has its own flag.
	if flag := s.Flag(); flag != "--server" && !errors.As(err, new(*fault.Fault)) {
		return cli.Flag(flag, err)
	}
	return err
}

// list asks for the models.
func (s *armServer) list(ctx context.Context, admin pb.AdminServiceClient) error {
	got, err := admin.ListModels(ctx, &pb.ListModelsRequest{})
	s.id, s.models = got.GetServerId(), got.GetModels()
	return err
}

// give gives the arms of each server the shares of --share.
func (c *Models) give(servers []armServer) error {
	shares, err := c.shares()
	if err != nil {
		return err
	}
	if err := checkShares(shares, servers); err != nil {
		return err
	}
	for i := range servers {
		err := servers[i].call(func(ctx context.Context, admin pb.AdminServiceClient) error {
			_, err := admin.SetTraffic(ctx, &pb.SetTrafficRequest{Shares: shares})
			return err
		})
		if err != nil && len(servers) > 1 {
			return fault.In(fmt.Sprintf("the first %d of %d servers have the new shares, and the "+
				"next one perhaps; mend this, and repeat the command", i, len(servers)), err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkShares checks what a server would refuse, and that all servers would have the same shares.
func checkShares(shares []*pb.ArmShare, servers []armServer) error {
	first, sum := sharesAfter(shares, servers[0].models)
	for _, s := range shares {
		isOf := func(m *pb.ArmModel) bool { return m.GetArm() == s.GetArm() }
		if !slices.ContainsFunc(servers[0].models[1:], isOf) {
			return cli.Flagf("--share", "%q is no arm beside main; there are: %s", s.GetArm(),
				cmp.Or(strings.Join(first, ", "), "none"))
		}
	}
	if sum > 100+1e-9 { // rounding
		return cli.Flagf("--share", "%s would be %v percent in all, at most 100 are allowed",
			strings.Join(first, ", "), sum)
	}
	for i := range servers {
		s := &servers[i]
		if all, _ := sharesAfter(shares, s.models); !slices.Equal(all, first) {
			return cli.Flagf("--share", "%s would have %s, and %s %s: name all of these arms",
				servers[0].Server, strings.Join(first, ", "), s.Server, strings.Join(all, ", "))
		}
	}
	return nil
}

// sharesAfter are the arms of a server beside main as they would be with these shares, and the sum.
func sharesAfter(shares []*pb.ArmShare, models []*pb.ArmModel) (all []string, sum float64) {
	for _, m := range models[1:] {
		share := m.GetConfiguredSharePercent()
		for _, s := range shares {
			if s.GetArm() == m.GetArm() {
				share = s.GetSharePercent()
			}
		}
		all = append(all, fmt.Sprintf("%s=%v", m.GetArm(), share))
		sum += share
	}
	return all, sum
}

// added returns the models of the first server with what all have counted.
func added(servers []armServer) ([]*pb.ArmModel, error) {
	models := servers[0].models
	for _, s := range servers[1:] {
		if !wire.AddOutcomes(models, s.models) {
			return nil, cli.Flagf(s.Flag(), "%s has other shares of the arms than %s; --share for "+
				"each of them gives all the same", s.Server, servers[0].Server)
		}
	}
	if len(servers) > 1 {
		wire.Judge(models)
	}
	return models, nil
}
