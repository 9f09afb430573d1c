package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/bench/internal/loadtest"
	"github.com/gsimc/gsimc/bench/internal/served"
	"github.com/gsimc/gsimc/client"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/model"
)

// subject is a server under measurement, with its model.
type subject struct {
	model   *model.Model
	items   []string // ids, the most popular first; they are the model's memory
	client  *loadtest.Client
	process *served.Server // nil: it runs by itself

	address string
	options []grpc.DialOption // of connections to it
}

// pebble is the store on the disk of a server.
const pebble = "pebble"

// start starts a server with the model file at path, or finds the one of --server.
func (b *bench) start(ctx context.Context, path string) (*subject, error) {
	if ctx.Err() != nil {
		return nil, errInterrupted
	}
	s := &subject{address: b.Server}
	if err := b.attach(ctx, s, path); err != nil {
		return nil, errors.Join(err, s.close(ctx))
	}
	return s, nil
}

// startGiven starts a server with the model of --model, or else with a generated one.
func (b *bench) startGiven(ctx context.Context) (*subject, error) {
	path, err := b.givenModel()
	if err != nil {
		return nil, err
	}
	return b.start(ctx, path)
}

// givenModel returns the path of --model, or else of a generated model.
func (b *bench) givenModel() (string, error) {
	if b.Model != "" {
		return b.Model, nil
	}
	return b.generate(given(b.Items, benchItems), b.rank())
}

// attach fills in a subject, as far as it comes.
func (b *bench) attach(ctx context.Context, s *subject, path string) (err error) {
	if s.model, err = model.Open(path); err != nil {
		return &fault.Fault{Field: "--model", Err: err}
	}
	s.items = popularFirst(s.model)
	if s.address != "" {
		access, err := b.Access()
		if err != nil {
			return err
		}
		if s.options, err = access.DialOptions(s.address); err != nil {
			return err
		}
		if err := b.sameModel(ctx, access, s.model.Version()); err != nil {
			return err
		}
	} else {
		state := ""
		if b.Store == pebble {
			state = filepath.Join(b.dir,
				fmt.Sprintf("state-%d-%d", s.model.NumItems(), s.model.Rank()))
		}
		if s.process, err = served.Start(ctx, b.Gsimc, path, state, "--store", b.Store,
			"--max-items", "0", "--max-catalogue-size", "1TiB",
			"--max-connection-age", "24h", "--log-level", "info"); err != nil {
			return err
		}
		s.address = s.process.Address
	}
	s.client, err = loadtest.Dial(s.address, b.Connections, s.options...)
	return err
}

// close ends everything that belongs to the subject. An interrupt may have reached the child
// before.
func (s *subject) close(ctx context.Context) error {
	var errs []error
	if s.client != nil {
		errs = append(errs, s.client.Close())
	}
	errs = append(errs, stop(ctx, s.process))
	if s.model != nil {
		errs = append(errs, s.model.Close())
	}
	return errors.Join(errs...)
}

// stop ends a process, if there is one. After an interrupt, which a terminal sends to all
// processes, how it ended is no matter.
func stop(ctx context.Context, p *served.Server) error {
	if p == nil {
		return nil
	}
	if err := p.Close(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("stopping the server: %w", err)
	}
	return nil
}

// statusTimeout is the time that a server may take to say what it serves.
const statusTimeout = 10 * time.Second

// sameModel refuses a server with another model than that of --model: its items would be unknown.
func (b *bench) sameModel(
	ctx context.Context, access client.Access, version string,
) (err error) {
	c, err := client.Dial(client.Options{Address: b.Server, Access: access, Timeout: statusTimeout})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	// The answer has the version, followed by those of an extension and of trends.
	answer, err := pb.NewRecommenderServiceClient(c.Conn()).Recommend(ctx, &pb.RecommendRequest{
		Subject:  &pb.RecommendRequest_UserId{UserId: "bench"},
		PageSize: 1,
	})
	if err != nil {
		return &fault.Fault{Field: "--server", Err: c.Explain(err)}
	}
	if got := answer.GetModelVersion(); !strings.HasPrefix(got, version) {
		return refuse("--model", "the file has version %s, but the server at %s serves %s: give "+
			"the file that it serves", version, b.Server, got)
	}
	return nil
}

// popularFirst returns the ids of all items by descending degree.
func popularFirst(m *model.Model) []string {
	ids := make([]string, m.NumItems())
	for i, item := range m.Popular() {
		ids[i] = m.ItemID(item)
	}
	return ids
}

// echoFile holds the server's answer to a kind of requests, for the echo.
func (b *bench) echoFile(ctx context.Context, s *subject, kind loadtest.Kind) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, max(b.Timeout, 5*time.Second))
	defer cancel()
	t := b.traffic(s)
	t.Observe, t.Stream = 0, 0
	if kind == loadtest.Observe {
		t.Observe = 1
	}
	answer, err := s.client.Exchange(ctx, t.Source(0).Next())
	if err != nil {
		return "", fmt.Errorf("%s: %w", kind, err)
	}
	path := filepath.Join(b.dir, kind.String()+".answer")
	return path, os.WriteFile(path, answer, 0o600)
}

// startEcho starts an echo of the server's answers.
func (b *bench) startEcho(ctx context.Context, s *subject) (echo *subject, err error) {
	list, err := b.echoFile(ctx, s, loadtest.Recommend)
	if err != nil {
		return nil, err
	}
	observed, err := b.echoFile(ctx, s, loadtest.Observe)
	if err != nil {
		return nil, err
	}
	echo = &subject{}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if echo.process, err = served.Run(ctx, self, echoCommand, list, observed); err != nil {
		return nil, err
	}
	if echo.client, err = loadtest.Dial(echo.process.Address, b.Connections); err != nil {
		return nil, errors.Join(err, echo.close(ctx))
	}
	return echo, nil
}
