package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/gsimc/gsimc/server/internal/background"
	"github.com/gsimc/gsimc/server/internal/console"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/server/internal/socket"
)

// Run listens on the configured addresses and serves until ctx ends, see [Server.Serve].
func (s *Server) Run(ctx context.Context) error {
	l, err := listenAll(ctx, &s.cfg)
	if err != nil {
		s.closeModels()
		return err
	}
	return s.Serve(ctx, l)
}

// Serve serves on the listeners, which it closes, until ctx ends, and then drains: health turns
// NOT_SERVING and /readyz 503, calls are still taken for DrainDelay. Then streams are told to end,
// new calls are refused, and calls in flight have DrainTimeout to finish. What they leave of it is
// for the last write of new items and trends. It returns nil after a drain, even if calls had to be
// cut off, since that loses no acknowledged event. Calls and work that do not end are left behind.
// It may be called once. The store is not closed.
func (s *Server) Serve(ctx context.Context, l Listeners) error {
	defer s.arms.Close()
	s.logServing(ctx, l) // before the line of any call: the listeners take connections already
	failed := make(chan error, 4)
	go func() { failed <- s.grpc.Serve(s.limited(l.GRPC, s.cfg.MaxConnections)) }()
	if s.json != nil && l.JSON != nil {
		go func() { failed <- s.json.serve(s.limited(l.JSON, s.cfg.MaxConnections)) }()
	}
	go func() { failed <- s.adminGRPC.Serve(s.limited(l.Admin, maxAdminConnections)) }()
	go func() { failed <- s.ops.Serve(s.limited(l.Ops, maxOpsConnections)) }()
	watch, stopWatch := context.WithCancel(ctx)
	defer stopWatch()
	go s.watchStore(watch)
	working, keeping := running(watch, s.background), running(watch, s.keeping)

	var err error
	select {
	case <-ctx.Done():
		s.shutDown()
	case err = <-failed:
		s.stopGRPC()
	}
	stopWatch()
	opsClosed := make(chan error, 1)
	go func() { opsClosed <- s.closeOps() }()
	s.endBackground(working, keeping)
	return errors.Join(err, <-opsClosed)
}

// running starts work and returns a channel that is closed when all of it has ended.
func running(ctx context.Context, all []func(context.Context)) <-chan struct{} {
	var working sync.WaitGroup
	for _, work := range all {
		working.Go(func() { work(ctx) })
	}
	return background.Ended(working.Wait)
}

// endBackground waits for work that was told to end: for what is kept for the next start as long as
// calls could have taken, for the rest until its grace is over.
func (s *Server) endBackground(working, keeping <-chan struct{}) {
	grace := time.Now().Add(backgroundGrace)
	kept := background.Within(keeping, max(backgroundGrace, time.Until(s.drain.end())))
	if !kept {
		s.log.Warn("new items and trends are not kept in time: the next start serves those of " +
			"the last write until it has searched the store; check the store and its disk")
	}
	switch ended := background.Within(working, time.Until(grace)); {
	case !ended:
		s.log.Warn("background work does not end: leaving it behind")
	case kept: // nothing uses the shadow model any more
		s.quality.Close()
	}
}

// logServing writes the first line of a server that is ready.
func (s *Server) logServing(ctx context.Context, on Listeners) {
	l := s.arms.Main().Models.Acquire()
	defer l.Release()
	m := models.Describe(l)
	attrs := []slog.Attr{
		slog.String("version", s.cfg.BuildVersion),
		slog.String("model", m.GetVersion()), slog.String("dynamics", m.GetDynamics()),
		slog.Int64("items", m.GetItemCount()), slog.Int64("rank", int64(m.GetRank())),
		slog.String("grpc", on.GRPC.Addr().String()),
		slog.String("admin", socket.Address(on.Admin)), slog.String("ops", on.Ops.Addr().String()),
	}
	if on.JSON != nil {
		attrs = append(attrs, slog.String("json", on.JSON.Addr().String()))
	}
	if s.cfg.servesConsole() {
		attrs = append(attrs, slog.String("console",
			"http://"+on.Ops.Addr().String()+console.Path))
	}
	if at := models.TrainedAt(m); at != "" {
		attrs = append(attrs, slog.String("trained", at))
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "serving", attrs...)
}

// closeOps ends the ops listener after scrapes in flight, or after opsGrace.
func (s *Server) closeOps() error {
	ctx, cancel := context.WithTimeout(context.Background(), opsGrace)
	defer cancel()
	if err := s.ops.Shutdown(ctx); err != nil && !errors.Is(err, io.EOF) {
		return s.ops.Close()
	}
	return nil
}
