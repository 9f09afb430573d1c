package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/arms"
	"github.com/gsimc/gsimc/server/internal/calls"
	"github.com/gsimc/gsimc/server/internal/catalogue"
	"github.com/gsimc/gsimc/server/internal/credit"
	"github.com/gsimc/gsimc/server/internal/doors"
	"github.com/gsimc/gsimc/server/internal/filters"
	"github.com/gsimc/gsimc/server/internal/follow"
	"github.com/gsimc/gsimc/server/internal/ingest"
	"github.com/gsimc/gsimc/server/internal/items"
	"github.com/gsimc/gsimc/server/internal/passes"
	"github.com/gsimc/gsimc/server/internal/popularity"
	"github.com/gsimc/gsimc/server/internal/quality"
	"github.com/gsimc/gsimc/server/internal/recommend"
	"github.com/gsimc/gsimc/server/internal/stage"
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/server/internal/users"
	"github.com/gsimc/gsimc/server/internal/watched"
	"github.com/gsimc/gsimc/store"
)

// Server answers the gRPC services and the ops listener. Make one with [New], run it once with
// [Server.Run] or [Server.Serve].
type Server struct {
	cfg     Config
	log     *slog.Logger
	metrics *Metrics
	drain   drain
	bounds

	store   store.Store
	doors   *doors.Doors
	chain   *calls.Chain
	updater *state.Updater
	arms    *arms.Set
	credits *credit.Book
	files
	catalogue *catalogue.Catalogue
	states    *state.Cache
	quality   *quality.Meter // nil: not measured
	follow    follow.All
	newUsers  *ingest.NewUsers

	services services
	work
	servers
}

// work is what runs beside the calls, which do not wait for it.
type work struct {
	background []func(context.Context)
	keeping    []func(context.Context) // each ends by writing a file for the next start
}

// files holds the settings that the server reads again when a file of theirs changes.
type files struct {
	types *watched.Files[event.Weights] // nil: the weights are those of the configuration
	named *filters.Set                  // by --filters-file
}

// services are those of the clients, and that of the operators.
type services struct {
	recommend *recommend.Service
	events    pb.EventServiceServer
	users     pb.UserServiceServer
	items     pb.ItemServiceServer
	admin     pb.AdminServiceServer
}

// ErrNoModel is returned by the function that opens the model when there is none yet.
var ErrNoModel = errors.New("server: there is no model yet")

// restoreTimeout bounds what a start waits for new items and trends that were kept.
const restoreTimeout = 10 * time.Second

// New opens the model with open and builds the server. open is called again at each reload; it must
// return a model of its own each time, which the server closes when no request needs it any more.
// With [ErrNoModel] the server lists the popular items of the store, until a reload finds a model.
// The caller keeps the store and closes it after Run has returned.
func New(cfg Config, st store.Store, open func() (*model.Model, error)) (*Server, error) {
	return newBounded(cfg, st, open, usualBounds(&cfg))
}

// newBounded is New with these bounds. It says what the parts of a server are, and what each needs.
func newBounded(
	cfg Config, st store.Store, open func() (*model.Model, error), b bounds,
) (_ *Server, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, fault.In("server configuration", err)
	}
	s := newServer(cfg, st, b)
	started := s.cfg.Now()
	defer func() {
		if err != nil {
			s.closeModels()
		}
	}()
	// What files say: who may call, the weights of events, filters by name.
	if s.named, err = s.openFiles(); err != nil {
		return nil, fault.In("server configuration", err)
	}
	// What lists are made of: models, the items that may be shown, the states of users.
	popular := popularity.New(popularity.Deps{Store: st, Updater: s.updater, Log: s.log,
		HalfLife: cfg.PopularityHalfLife, Guard: s.chain.Guard})
	if err = s.openArms(open, popular); err != nil {
		return nil, err
	}
	s.catalogue, err = catalogue.Open(context.Background(), st, s.cfg.Now(),
		catalogue.Bounds{Items: cfg.MaxItems, Bytes: cfg.MaxCatalogueBytes})
	if err != nil {
		return nil, err
	}
	s.arms.UseCatalogue(s.catalogue)
	traced := tracedStore(cfg.Tracer, st)
	if s.states, err = state.NewCache(cfg.StateCacheBytes,
		state.Deps{Store: traced, Updater: s.updater, Metrics: s.metrics.states}); err != nil {
		return nil, fmt.Errorf("state cache: %w", err)
	}
	// What follows the histories.
	if err = s.openQuality(); err != nil {
		return nil, err
	}
	notices := s.newNotices()
	extenders := s.newExtenders(notices)
	s.follow = follow.All{s.quality, popular, extenders}
	// What answers, and works when nobody asks.
	s.newServices(traced)
	if err = s.newServers(started); err != nil {
		return nil, err
	}
	s.background = []func(context.Context){s.quality.Run, popular.Run, notices.Run,
		s.newSweeper().Run, s.watchCatalogue, watching(s.doors), watching(s.types),
		watching(s.named), s.past.Run}
	restoring, stop := context.WithTimeout(context.Background(), restoreTimeout)
	defer stop()
	for _, x := range extenders {
		x.Restore(restoring)
		if s.cfg.ExtensionDir == "" {
			s.background = append(s.background, x.Run)
		} else {
			s.keeping = append(s.keeping, x.Run)
		}
	}
	return s, nil
}

// newServer returns a server with what cannot fail.
func newServer(cfg Config, st store.Store, b bounds) *Server {
	s := &Server{
		cfg: cfg, log: cfg.Logger, metrics: cfg.Metrics, store: st,
		updater: state.NewUpdater(cfg.EventWeights),
		drain:   newDrain(), bounds: b,
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.cfg.Now == nil {
		s.cfg.Now = time.Now
	}
	if s.metrics == nil {
		s.metrics = NewMetrics()
	}
	return s
}

// newServices makes the services of the clients. traced is the store for what is traced.
func (s *Server) newServices(traced store.Store) {
	s.credits = credit.New(credit.Deps{Identity: s.store.Identity(), Arms: s.arms.Names(),
		ArmOf: s.arms.Split.Drawn, Now: s.cfg.Now, Weights: s.updater.Weights,
		Metrics: s.metrics.credit})
	s.newUsers = ingest.NewQuota(s.cfg.MaxNewUsers, s.doors.NewUsers, s.store)
	meter := stage.Meter{Metrics: s.metrics.stages, Traced: s.cfg.Tracer != nil}
	s.services = services{
		recommend: recommend.New(recommend.Deps{Store: s.store, Arms: s.arms, States: s.states,
			Updater: s.updater, Batcher: passes.New(s.metrics.passes), Filters: s.named,
			Credits: s.credits, Estimator: s.cfg.Estimator, Now: s.cfg.Now,
			MaxSendBytes: s.cfg.MaxSendBytes, Public: s.chain.Public, Meter: meter,
			Metrics: s.metrics.recommend}),
		events: ingest.New(ingest.Deps{Store: s.store, Append: traced.Append, Arms: s.arms,
			States: s.states, Follow: s.follow, Credits: s.credits, NewUsers: s.newUsers,
			ReadAhead: s.readAhead, StreamIdle: s.cfg.StreamIdle, Draining: s.drain.streams,
			Cut: s.drain.cut, Guard: s.chain.Guard, Now: s.cfg.Now, HashUser: s.chain.Users.Hash,
			Meter: meter, Metrics: s.metrics.events, Log: s.log}),
		users: users.New(users.Deps{Bounds: s.users, Store: s.store, Arms: s.arms,
			States: s.states, Updater: s.updater, Follow: s.follow,
			Estimator: s.cfg.Estimator, Now: s.cfg.Now, Caller: s.chain.Caller,
			Draining: s.drain.streams, Log: s.log}),
		items: items.New(items.Deps{Catalogue: s.catalogue, Models: s.arms.Main().Models,
			Filters: s.named}),
	}
}

// closeModels gives all models back, of a server that does not serve.
func (s *Server) closeModels() {
	s.json.stop()
	s.quality.Close()
	s.arms.Close()
}

// ModelVersion returns the version of the file of the serving model, extended or not; empty if
// there is none, and once the server has stopped.
func (s *Server) ModelVersion() string {
	l := s.arms.Main().Models.Acquire()
	if l == nil {
		return ""
	}
	defer l.Release()
	if !l.Personal() {
		return ""
	}
	return l.Base().Version()
}

// Reload opens the model anew and lets it serve, and so the models of the arms, and reads the files
// of event types and of filters again. On an error the old model goes on serving; that of an arm or
// of a file is logged alone. Reload is safe for concurrent use. Calls that come while a model is
// being opened share the next opening. The end of ctx ends the waiting.
func (s *Server) Reload(ctx context.Context) error {
	if s.types != nil {
		s.types.LookNow(ctx)
	}
	s.named.LookNow(ctx)
	l, _, err := s.arms.Main().Models.Reload(ctx)
	if err == nil {
		l.Release()
	}
	_ = s.arms.ReloadOthers(ctx)
	return err
}
