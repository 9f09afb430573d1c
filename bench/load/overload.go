package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/gsimc/gsimc/bench/internal/loadtest"
	"github.com/gsimc/gsimc/bench/internal/served"
)

const (
	// overloadConnections are as many as a busy server has clients, each with its own calls.
	overloadConnections = 32
	overloadInFlight    = 64
	// A server gets this share of one processor: a generator on the other one can then send ten
	// times what it answers.
	serverShare = 0.1
	sharePeriod = 10 * time.Millisecond
)

// overload measures overloads of Recommend and of Observe, with the server held to a part of a
// processor.
func (b *bench) overload(ctx context.Context, s *subject, suite *loadtest.Suite) (err error) {
	free, err := separate(s.process.PID())
	if err != nil {
		return err
	}
	defer free()
	b.note("The server gets %g %% of one processor, by stopping it for the rest of each %s.",
		100*serverShare, sharePeriod)
	if runtime.NumCPU() < 2 {
		b.note("There is one processor only: the generator takes its time from the server.")
	}
	client, err := loadtest.Dial(s.address, overloadConnections, s.options...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	probe, closeProbe, err := prober(s.process)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeProbe()) }()
	defer throttle(s.process)()
	usual := suite.Server
	suite.Server, suite.Settle = client, nil // it is never idle
	defer func() { suite.Server = usual }()
	for _, observe := range []bool{false, true} {
		if err := suite.Overload(ctx, loadtest.Overload{Observe: observe,
			InFlight: given(b.InFlight, overloadInFlight), Probe: probe}); err != nil {
			return err
		}
	}
	return nil
}

// prober asks a server for its health, over HTTP and over gRPC, on connections of its own.
func prober(c *served.Server) (probe func(context.Context) error, end func() error, err error) {
	conn, err := grpc.NewClient(c.Address,
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, nil, err
	}
	health := healthpb.NewHealthClient(conn)
	return func(ctx context.Context) error {
		if _, err := health.Check(ctx, &healthpb.HealthCheckRequest{}); err != nil {
			return err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.Ops+"/readyz", nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		if err := answer.Body.Close(); err != nil || answer.StatusCode == http.StatusOK {
			return err
		}
		return fmt.Errorf("readyz: %s", answer.Status)
	}, conn.Close, nil
}

// throttle holds a process to its share of a processor until the returned function is called.
func throttle(c *served.Server) (end func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	signal := func(sig os.Signal) { _ = c.Signal(sig) } // it fails when the process has ended
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		run := time.Duration(serverShare * float64(sharePeriod))
		for {
			select {
			case <-done:
				return
			default:
			}
			signal(syscall.SIGCONT)
			pause(run)
			signal(syscall.SIGSTOP)
			pause(sharePeriod - run)
		}
	}()
	return func() {
		close(done)
		<-ended
		signal(syscall.SIGCONT)
	}
}
