package main

import (
	"context"
	"errors"
	"os"

	"github.com/gsimc/gsimc/bench/internal/loadtest"
)

// sweepAxis is what --sweep can grow.
type sweepAxis struct {
	x         string // what the points count
	low, high int
	points    []int // by default
}

var sweeps = map[string]sweepAxis{
	"n": {"items", 2, 100_000_000, []int{10_000, 20_000, 50_000, 100_000, 200_000, 500_000,
		1_000_000, 2_000_000}},
	"k":       {"rank", 1, 100_000, []int{64, 128, 256, 512, 1024}},
	"history": {"events in the request", 1, 1000, []int{1, 3, 10, 30, 100, 300, 1000}},
	"clients": {"clients", 1, 10_000, []int{1, 2, 4, 8, 16, 32, 64, 128, 256}},
	"users": {"users in the store", 1, maxBenchUsers,
		[]int{10_000, 30_000, 100_000, 300_000, 1_000_000}},
}

// sweep measures the points of a sweep, each with all its repetitions, one after the other.
func (b *bench) sweep(ctx context.Context) error {
	axis, points := sweeps[b.Sweep], b.At
	if len(points) == 0 {
		points = axis.points
	}
	if b.Sweep == "n" || b.Sweep == "k" {
		return b.sweepModels(ctx, axis, points)
	}
	return b.sweepServer(ctx, axis, points)
}

// sweepModels gives each point a model and a server of its own.
func (b *bench) sweepModels(ctx context.Context, axis sweepAxis, points []int) error {
	all := &loadtest.Suite{}
	defer func() { b.report.Series = all.Series() }()
	for _, x := range points {
		n, k := x, min(b.rank(), x)
		if b.Sweep == "k" {
			n, k = given(b.Items, benchItems), x
		}
		if err := b.sweepModel(ctx, all, axis, n, k, x); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) sweepModel(
	ctx context.Context, all *loadtest.Suite, axis sweepAxis, n, k, x int,
) (err error) {
	path, err := b.generate(n, k)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(path)) }() // some are of gigabytes
	s, err := b.start(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := b.load(ctx, s, 0, b.Users); err != nil {
		return err
	}
	suite := b.suite(s)
	suite.Continue(all)
	err = suite.Cost(ctx, loadtest.Axis{Name: b.Sweep, X: axis.x}, float64(x),
		given(b.InFlight, benchInFlight))
	all.Continue(suite)
	return err
}

// sweepServer measures all points against one server.
func (b *bench) sweepServer(ctx context.Context, axis sweepAxis, points []int) (err error) {
	s, err := b.startGiven(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	suite, a := b.suite(s), loadtest.Axis{Name: b.Sweep, X: axis.x}
	defer func() { b.report.Series = suite.Series() }()
	loaded := 0
	for _, x := range points {
		users := b.Users
		switch b.Sweep {
		case "users":
			users = x
		case "history":
			suite.Traffic.History = x
		}
		if loaded < users {
			if err := b.load(ctx, s, loaded, users); err != nil {
				return err
			}
			loaded = users
		}
		suite.Traffic.Users = users
		if b.Sweep == "clients" {
			err = costOfClients(ctx, s, suite, a, x)
		} else {
			err = suite.Cost(ctx, a, float64(x), given(b.InFlight, benchInFlight))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// costOfClients gives each client a connection of its own.
func costOfClients(
	ctx context.Context, s *subject, suite *loadtest.Suite, a loadtest.Axis, clients int,
) (err error) {
	shared := suite.Server
	if suite.Server, err = loadtest.Dial(s.address, clients, s.options...); err != nil {
		return err
	}
	err = suite.CostOfClients(ctx, a, clients)
	err = errors.Join(err, suite.Server.Close())
	suite.Server = shared
	return err
}
