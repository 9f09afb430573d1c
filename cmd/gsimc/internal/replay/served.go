package replay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
	"github.com/gsimc/gsimc/store/pebble"
)

// batch is the most events of a call of BatchObserve.
const batch = 1000

// served has a server in this process take the events of a folder in again and make the list.
func (c *Cmd) served(at point) (got *pb.RecommendResponse, events []*pb.Event, err error) {
	all, err := c.stored()
	if err != nil {
		return nil, nil, err
	}
	events, now, err := at.cut(all)
	if err != nil {
		return nil, nil, err
	}
	err = c.withServer(now, func(ctx context.Context, conn grpc.ClientConnInterface) error {
		if err := observe(ctx, pb.NewEventServiceClient(conn), events); err != nil {
			return err
		}
		req := c.request()
		req.Subject = &pb.RecommendRequest_UserId{UserId: c.User}
		got, err = pb.NewRecommenderServiceClient(conn).Recommend(ctx, req)
		return err
	})
	return got, events, err
}

// stored reads the history from the folder.
func (c *Cmd) stored() (events []*pb.Event, err error) {
	r, err := pebble.OpenReadOnly(c.DataDir, pebble.Options{})
	if errors.As(err, new(*fs.PathError)) {
		err = cli.PathError(err)
	}
	if err != nil {
		return nil, cli.Flag("--data-dir", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	err = r.History(context.Background(), c.User, func(_ uint64, e store.Event) error {
		events = append(events, &pb.Event{EventId: e.ID, UserId: c.User, ItemId: e.Item,
			EventType: e.Type, EventTime: timestamppb.New(e.Time), Value: &e.Value})
		return nil
	})
	if err == nil && len(events) == 0 {
		err = cli.Flagf("--user", "the store in %s has no such user", c.DataDir)
	}
	return events, err
}

// observe sends the events, of which none may be refused.
func observe(ctx context.Context, to pb.EventServiceClient, events []*pb.Event) error {
	for len(events) > 0 {
		n := min(len(events), batch)
		got, err := to.BatchObserve(ctx, &pb.BatchObserveRequest{Events: events[:n]})
		if err != nil {
			return err
		}
		for _, r := range got.GetResults() {
			if r.GetError() != nil {
				return fmt.Errorf("an event is not taken again: %s", r.GetError().GetMessage())
			}
		}
		events = events[n:]
	}
	return nil
}

// withServer runs fn with a connection to a server of its own, whose clock stands at now.
func (c *Cmd) withServer(
	now time.Time, fn func(context.Context, grpc.ClientConnInterface) error,
) (err error) {
	cfg := server.DefaultConfig()
	cfg.Logger = slog.New(slog.DiscardHandler)
	cfg.Metrics = server.NewMetrics()
	cfg.Now = func() time.Time { return now }
	cfg.Estimator, cfg.EventWeights = model.Estimator(c.Estimator), c.EventWeight
	cfg.ExtendEvery, cfg.QualitySample, cfg.DrainDelay = 0, 0, 0
	s, err := server.New(cfg, memory.New(), func() (*model.Model, error) {
		return cli.LoadModel("--model", c.Model)
	})
	if err != nil {
		return err
	}
	l, err := loopback()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	defer func() {
		stop()
		err = errors.Join(err, <-ended)
	}()
	at := cli.ServerFlags{Server: l.GRPC.Addr().String(), Timeout: max(c.Timeout, time.Minute)}
	return at.Call(fn)
}

// loopback opens the doors of a server on free ports that only this machine reaches.
func loopback() (l server.Listeners, err error) {
	var opened []net.Listener
	for _, door := range []*net.Listener{&l.GRPC, &l.Admin, &l.Ops} {
		if *door, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			for _, o := range opened {
				err = errors.Join(err, o.Close())
			}
			return server.Listeners{}, err
		}
		opened = append(opened, *door)
	}
	return l, nil
}
