package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/child"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/stores"

	"google.golang.org/grpc"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/loadtest"
	"github.com/gsimc/gsimc/model"
)

// subject is a server under measurement, with its model.
type subject struct {
	model  *model.Model
	items  []string // ids, the most popular first; they are the model's memory
	client *loadtest.Client
	child  *child.Server // nil: it runs by itself

	address string
	options []grpc.DialOption // of connections to it
}

// start starts a server with the model file at path, or finds the one of --server.
func (b *bench) start(ctx context.Context, path string) (*subject, error) {
	if ctx.Err() != nil {
		return nil, cli.ErrInterrupted
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
	return b.generate(cli.Given(b.Items, benchItems), b.rank())
}

// attach fills in a subject, as far as it comes.
func (b *bench) attach(ctx context.Context, s *subject, path string) (err error) {
	if s.model, err = cli.OpenModel("--model", path); err != nil {
		return err
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
		if err := b.sameModel(s.model.Version()); err != nil {
			return err
		}
	} else {
		args := []string{"serve", "--model", path, "--store", b.Store}
		if stores.OnDisk(b.Store) {
			state := fmt.Sprintf("state-%d-%d", s.model.NumItems(), s.model.Rank())
			args = append(args, "--data-dir", filepath.Join(b.dir, state))
		}
		if s.child, err = child.Self(ctx, append(args,
			"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
			"--ops-listen", "127.0.0.1:0", "--max-items", "0",
			"--drain-delay", "0s", "--max-connection-age", "24h",
			"--log-format", "json", "--log-level", "info")...); err != nil {
			return err
		}
		s.address = s.child.GRPC
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
	errs = append(errs, stopChild(ctx, s.child))
	if s.model != nil {
		errs = append(errs, s.model.Close())
	}
	return errors.Join(errs...)
}

// stopChild stops a child, if there is one. After an interrupt, which a terminal sends to all
// processes, how it ended is no matter.
func stopChild(ctx context.Context, c *child.Server) error {
	if c == nil {
		return nil
	}
	err := c.Stop()
	if ctx.Err() != nil {
		<-c.Exited()
		return nil
	}
	if err != nil {
		return fmt.Errorf("stopping the server: %w", err)
	}
	return nil
}

// statusTimeout is the time that a server may take to say what it serves.
const statusTimeout = 10 * time.Second

// sameModel refuses a server with another model than that of --model: its items would be unknown.
func (b *bench) sameModel(version string) error {
	server := cli.ServerFlags{Server: b.Server, Timeout: statusTimeout, AccessFlags: b.AccessFlags}
	return server.Call(func(ctx context.Context, conn grpc.ClientConnInterface) error {
		// The answer has the version, followed by a plus sign if new items extend the model.
		answer, err := pb.NewRecommenderServiceClient(conn).Recommend(ctx, &pb.RecommendRequest{
			Subject:  &pb.RecommendRequest_UserId{UserId: "bench"},
			PageSize: 1,
		})
		if err != nil {
			return err
		}
		if got, _, _ := strings.Cut(answer.GetModelVersion(), "+"); got != version {
			return cli.Flagf("--model", "the file has version %s, but the server at %s serves "+
				"%s: give the file that it serves", version, b.Server, got)
		}
		return nil
	})
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
	echo.child, err = child.Self(ctx, "bench-echo", "--list", list, "--observed", observed)
	if err != nil {
		return nil, err
	}
	if echo.client, err = loadtest.Dial(echo.child.GRPC, b.Connections); err != nil {
		return nil, errors.Join(err, echo.close(ctx))
	}
	return echo, nil
}
