package server

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/file/atomicfile"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/arms"
	"github.com/gsimc/gsimc/server/internal/calls"
	"github.com/gsimc/gsimc/server/internal/coldstart"
	"github.com/gsimc/gsimc/server/internal/doors"
	"github.com/gsimc/gsimc/server/internal/filters"
	"github.com/gsimc/gsimc/server/internal/follow"
	"github.com/gsimc/gsimc/server/internal/popularity"
	"github.com/gsimc/gsimc/server/internal/quality"
	"github.com/gsimc/gsimc/server/internal/retention"
	"github.com/gsimc/gsimc/server/internal/tracing"
	"github.com/gsimc/gsimc/store"
)

// openFiles opens what files of the configuration say, and what calls pass on their way.
func (s *Server) openFiles() (named *filters.Set, err error) {
	if s.doors, err = s.cfg.openDoors(s.log, s.metrics.doors); err != nil {
		return nil, err
	}
	s.chain = calls.New(calls.Deps{Doors: s.doors, Log: s.log,
		Users: calls.NewHasher(s.cfg.LogKey), SlowRequest: s.cfg.SlowRequest,
		Traced: s.cfg.Tracer != nil, Metrics: s.metrics.calls, StoreFailed: s.storeFailed,
		Draining: s.drain.streams})
	if err = s.openEventTypes(); err != nil {
		return nil, err
	}
	return filters.Open(s.cfg.FiltersFile, s.log, s.metrics.filters)
}

// CheckFiles returns the error of [New] about the files of tokens, certificates, event types and
// filters, for a caller who does not have a store yet.
func (c *Config) CheckFiles() error {
	s := newServer(*c, nil, bounds{})
	s.log, s.metrics = slog.New(slog.DiscardHandler), NewMetrics() // those of c tell it once
	_, err := s.openFiles()
	return fault.In("server configuration", err)
}

// watching watches files as work in the background.
func watching(files interface {
	Watch(ctx context.Context, every time.Duration)
}) func(context.Context) {
	return func(ctx context.Context) { files.Watch(ctx, doors.Poll) }
}

// openArms opens the models of the arms, main's or popular items in its place.
func (s *Server) openArms(
	open func() (*model.Model, error), popular *popularity.Counter,
) (err error) {
	orPopular := func() (*model.Model, error) {
		m, err := open()
		if errors.Is(err, ErrNoModel) {
			return popular.Model(context.Background())
		}
		return m, err
	}
	s.arms, err = arms.Open(tracedOpen(s.cfg.Tracer, orPopular), s.cfg.tracedArms(), arms.Deps{
		Salt: s.cfg.ArmSalt, CanaryEvents: s.cfg.CanaryEvents, CanaryZ: s.cfg.CanaryZ,
		Now: s.cfg.Now, Models: s.metrics.models, Metrics: s.metrics.arms, Log: s.log})
	if err != nil {
		return err
	}
	popular.Models = s.arms.Main().Models
	return nil
}

// tracedOpen is open with a span of its own, if there are any: a load serves no single call.
func tracedOpen(
	p trace.TracerProvider, open func() (*model.Model, error),
) func() (*model.Model, error) {
	if p == nil {
		return open
	}
	return func() (m *model.Model, err error) {
		err = tracing.Do(context.Background(), p, "model.load", func(context.Context) error {
			m, err = open()
			return err
		})
		return m, err
	}
}

// tracedStore is a store whose reads and writes have spans, if there are any.
func tracedStore(p trace.TracerProvider, st store.Store) store.Store {
	if p == nil {
		return st
	}
	return tracing.Store{Store: st, Provider: p}
}

// openQuality opens the shadow model and makes what measures it and the arms.
func (s *Server) openQuality() (err error) {
	measured := quality.Deps{
		Store: s.store, Updater: s.updater, Estimator: s.cfg.Estimator, Arms: s.arms.Names(),
		Metrics: s.metrics.quality, Guard: s.chain.Guard, ArmOf: s.arms.Split.Of,
		Measured: s.arms.Measured, Catalogue: s.catalogue, Now: s.cfg.Now,
	}
	for _, a := range s.arms.All() {
		measured.Models = append(measured.Models, a.Models)
	}
	var shadow *model.Model
	if open := s.cfg.ShadowModel; open != nil {
		if shadow, err = open(); err != nil {
			return fault.In("shadow model", err)
		}
		s.log.Info("shadow model loaded", slog.String("version", shadow.Version()))
	}
	s.quality = quality.New(s.cfg.QualitySample, shadow, measured)
	return nil
}

// newSweeper makes what takes old events out of the store.
func (s *Server) newSweeper() *retention.Sweeper {
	return retention.New(retention.Deps{Ages: s.cfg.Retain, Store: s.store, States: s.states,
		Follow: s.follow, Longest: s.users.RewriteHistory, Wake: s.retentionWake,
		Guard: s.chain.Guard, Now: s.cfg.Now, Metrics: s.metrics.retention, Log: s.log})
}

// newExtenders makes what extends the models of the arms by new items.
func (s *Server) newExtenders(notices *coldstart.Notices) (all follow.Extenders) {
	s.dropExtensions()
	for _, a := range s.arms.All() {
		of := s.metrics.coldstart
		if a.Index > 0 {
			of = coldstart.NewMetrics() // the series are those of main
		}
		x := coldstart.New(s.cfg.ExtendEvery, coldstart.Deps{
			Store: s.store, Models: a.Models, Updater: s.updater, Metrics: of,
			Log: s.log, Guard: s.chain.Guard, Now: s.cfg.Now, Notices: notices,
			First: a.Index == 0, Catalogue: s.catalogue, File: s.extensionFile(a.Name),
		})
		a.OnLoad = x.Wake
		all = append(all, x)
	}
	return all
}

// extensionFile is the file in which an arm keeps its new items and trends for the next start.
func (s *Server) extensionFile(arm string) string {
	if s.cfg.ExtensionDir == "" {
		return ""
	}
	return filepath.Join(s.cfg.ExtensionDir, extensionPrefix+arm)
}

const extensionPrefix = "extension."

// dropExtensions removes what arms have kept that there are no more, with what they have not
// finished.
func (s *Server) dropExtensions() {
	if s.cfg.ExtensionDir == "" {
		return
	}
	files, _ := os.ReadDir(s.cfg.ExtensionDir) // without it there is nothing
	for _, f := range files {
		name, temporary := strings.CutPrefix(f.Name(), ".")
		arm, is := strings.CutPrefix(name, extensionPrefix)
		if temporary {
			arm, _, _ = strings.Cut(arm, ".")
		}
		if !is || !arms.IsName(arm) || !f.Type().IsRegular() ||
			slices.Contains(s.arms.Names(), arm) {
			continue
		}
		path := s.extensionFile(arm)
		atomicfile.Sweep(path)
		if temporary {
			continue
		}
		if err := os.Remove(path); err != nil {
			s.log.Warn("new items of an arm that is no more cannot be removed",
				slog.String("error", err.Error()))
			continue
		}
		s.log.Info("new items of an arm that is no more removed", slog.String("arm", arm),
			slog.String("file", path))
	}
}

// newNotices returns what tells the other servers of the store of new items.
func (s *Server) newNotices() *coldstart.Notices {
	shared, ok := s.store.(store.Shared)
	if !ok || s.cfg.ExtendEvery == 0 {
		return nil
	}
	return coldstart.NewNotices(coldstart.NoticesDeps{Store: shared, Every: s.cfg.ExtendEvery,
		Bases: s.extendedModels, Metrics: s.metrics.coldstart, Log: s.log, Guard: s.chain.Guard})
}

// extendedModels returns the versions of the models that are extended.
func (s *Server) extendedModels() (versions []string) {
	for _, a := range s.arms.All() {
		l := a.Models.Acquire()
		if l == nil {
			continue
		}
		if l.Personal() {
			versions = append(versions, l.Base().Version())
		}
		l.Release()
	}
	return versions
}
