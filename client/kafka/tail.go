package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/gsimc/gsimc/client"
	"github.com/gsimc/gsimc/internal/fault"
)

// tail are the flags of `gsimc-kafka tail`.
type tail struct {
	Topic  string        `required:"" placeholder:"NAME" help:"Topic to write to. It must be there, and must not be compacted: the key of a record is the user, whose records are in one partition, in their order."`
	Cursor string        `required:"" placeholder:"FILE" help:"File that keeps how far the topic has come, made if absent; each topic has its own."`
	Every  time.Duration `default:"10s" help:"Time from one pass over all users to the next."`

	connections
}

// follow produces changes until ctx ends.
func (f *tail) follow(ctx context.Context, log *slog.Logger) error {
	if f.Topic == "" {
		return fault.New("Topic", nil, "a name")
	}
	if f.Cursor == "" {
		return fault.New("Cursor", nil, "the name of a file")
	}
	if f.Every < time.Millisecond {
		return fault.New("Every", f.Every, "at least 1ms")
	}
	server, err := f.dial()
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	options, err := f.options()
	if err != nil {
		return err
	}
	to, err := newSink(ctx, append(options, kgo.DefaultProduceTopic(f.Topic)))
	if err != nil {
		return err
	}
	defer to.Close()
	log.Info("following", "topic", f.Topic, "server", f.Server, "cursor", f.Cursor)
	damaged := 0
	err = server.Follow(ctx, client.FollowOptions{Cursor: f.Cursor, Every: f.Every, Row: to.row,
		Flush: to.flush,
		Passed: func(p client.Pass) {
			if p.Events+p.Erased > 0 {
				log.Info("produced", "users", p.Users, "events", p.Events, "erased", p.Erased)
			}
			if p.Damaged != damaged {
				log.Warn("histories that cannot be read, at least", "number", p.Damaged)
			}
			damaged = p.Damaged
		},
		Troubled: func(err error) { log.Warn("trying again", "error", err) },
	})
	if err == context.Canceled { //nolint:errorlint // alone: all that was taken is kept
		return nil
	}
	return err
}

// sink is the topic that changes go to.
type sink struct {
	*kgo.Client
	ctx    context.Context       // of producing
	failed atomic.Pointer[error] // the first one: what is behind it must not be kept as safe
}

// lastWords is the time to produce what was taken before a signal.
const lastWords = 15 * time.Second

func newSink(ctx context.Context, options []kgo.Opt) (*sink, error) {
	producer, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	if err := producer.Ping(ctx); err != nil {
		producer.Close()
		return nil, fmt.Errorf("no broker of --brokers answers: %w", err)
	}
	s := &sink{Client: producer}
	var cancel context.CancelFunc
	s.ctx, cancel = context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(lastWords, cancel) })
	return s, nil
}

func (s *sink) row(user string, line []byte) error {
	s.Produce(s.ctx, &kgo.Record{Key: []byte(user), Value: line},
		func(_ *kgo.Record, err error) {
			if err != nil {
				s.failed.CompareAndSwap(nil, &err)
			}
		})
	return nil
}

// flush waits for the brokers, without a bound while the program goes on.
func (s *sink) flush(ctx context.Context) error {
	err := s.Flush(ctx)
	if first := s.failed.Load(); first != nil {
		err = *first
	}
	if err != nil {
		return fmt.Errorf("the brokers have not taken all changes, which come again: %w", err)
	}
	return nil
}
