package call

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/wire"
)

// armServer is a server and its models.
type armServer struct {
	flags  cli.ServerFlags
	flag   string // which names it
	id     string
	models []*pb.ArmModel
}

// ask returns the servers of --server and of --with, which have the same arms.
func (c *Models) ask() ([]armServer, error) {
	servers := []armServer{{flags: c.ServerFlags, flag: "--server"}}
	for _, other := range c.With {
		s := armServer{flags: c.ServerFlags, flag: "--with"}
		s.flags.Server = other
		servers = append(servers, s)
	}
	for i := range servers {
		s, first := &servers[i], &servers[0]
		if err := s.call(s.list); err != nil {
			return nil, err
		}
		isSame := func(o armServer) bool { return o.id == s.id }
		if slices.ContainsFunc(servers[:i], isSame) {
			return nil, cli.Flagf(s.flag, "%s is a server that is there already: it would count "+
				"double", s.flags.Server)
		}
		if !slices.EqualFunc(s.models, first.models, sameArm) {
			return nil, cli.Flagf(s.flag, "%s has other arms than %s", s.flags.Server,
				first.flags.Server)
		}
	}
	return servers, nil
}

func sameArm(a, b *pb.ArmModel) bool { return a.GetArm() == b.GetArm() }

// call calls the server. Of a further one the error names the flag.
func (s *armServer) call(fn func(context.Context, pb.AdminServiceClient) error) error {
	err := s.flags.Call(func(ctx context.Context, conn grpc.ClientConnInterface) error {
		return fn(ctx, pb.NewAdminServiceClient(conn))
	})
	if s.flag == "--server" {
		return err
	}
	return cli.Flag(s.flag, err)
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
	for i := range servers {
		err := servers[i].call(func(ctx context.Context, admin pb.AdminServiceClient) error {
			_, err := admin.SetTraffic(ctx, &pb.SetTrafficRequest{Shares: shares})
			return err
		})
		if err != nil && i > 0 {
			return fault.In(fmt.Sprintf("%d of %d servers have the new shares; mend this, and "+
				"repeat the command", i, len(servers)), err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// added returns the models of the first server with what all have counted.
func added(servers []armServer) ([]*pb.ArmModel, error) {
	models := servers[0].models
	for _, s := range servers[1:] {
		if !wire.AddOutcomes(models, s.models) {
			return nil, cli.Flagf(s.flag, "%s has other shares of the arms than %s; --share gives "+
				"all the same", s.flags.Server, servers[0].flags.Server)
		}
	}
	if len(servers) > 1 {
		wire.Judge(models)
	}
	return models, nil
}
