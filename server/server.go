package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/wire"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/admission"
	"github.com/gsimc/gsimc/server/internal/arms"
	"github.com/gsimc/gsimc/server/internal/calls"
	"github.com/gsimc/gsimc/server/internal/catalogue"
	"github.com/gsimc/gsimc/server/internal/coldstart"
	"github.com/gsimc/gsimc/server/internal/console"
	"github.com/gsimc/gsimc/server/internal/credit"
	"github.com/gsimc/gsimc/server/internal/doors"
	"github.com/gsimc/gsimc/server/internal/filters"
	"github.com/gsimc/gsimc/server/internal/follow"
	"github.com/gsimc/gsimc/server/internal/ingest"
	"github.com/gsimc/gsimc/server/internal/items"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/server/internal/operate"
	"github.com/gsimc/gsimc/server/internal/passes"
	"github.com/gsimc/gsimc/server/internal/popularity"
	"github.com/gsimc/gsimc/server/internal/quality"
	"github.com/gsimc/gsimc/server/internal/recommend"
	"github.com/gsimc/gsimc/server/internal/stage"
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/server/internal/tracing"
	"github.com/gsimc/gsimc/server/internal/users"
	"github.com/gsimc/gsimc/server/internal/valid"
	"github.com/gsimc/gsimc/server/internal/watched"
	"github.com/gsimc/gsimc/store"
)

// Server answers the gRPC services and the ops listener. Make one with [New], run it once with
// [Server.Run] or [Server.Serve].
type Server struct {
	cfg     Config
	log     *slog.Logger
	now     func() time.Time
	started time.Time
	hasher  *calls.Hasher
	chain   *calls.Chain
	meter   stage.Meter
	credits *credit.Book
	metrics *Metrics

	store     store.Store
	traced    store.Store // the same, for what calls read and write: traced if traces are wanted
	arms      *arms.Set
	popular   *popularity.Counter
	types     *watched.Files[event.Weights] // nil: the weights are those of the configuration
	models    *models.Holder                // of main
	catalogue *catalogue.Catalogue
	updater   *state.Updater
	states    *state.Cache
	quality   *quality.Meter // nil: not measured
	follow    follow.All
	extenders follow.Extenders   // of the arms
	notices   *coldstart.Notices // nil: no other server has the store
	batcher   *passes.Batcher

	grpc      *grpc.Server // of the clients
	adminGRPC *grpc.Server // of the operators
	doors     *doors.Doors
	filters   *filters.Set
	gate      *admission.Gate // of the clients
	adminGate *admission.Gate // of the operators
	health    *health.Server
	ops       *http.Server
	json      *jsonSide // nil: there is none
	drain     drain

	newUsers *ingest.NewUsers // nil: any number may begin a history
	services services
	bounds
}

// ErrNoModel is returned by the function that opens the model when there is none yet.
var ErrNoModel = errors.New("server: there is no model yet")

// New opens the model with open and builds the server. open is called again at each reload; it must
// return a model of its own each time, which the server closes when no request needs it any more.
// With [ErrNoModel] the server lists the popular items of the store, until a reload finds a model.
// The caller keeps the store and closes it after Run has returned.
func New(cfg Config, st store.Store, open func() (*model.Model, error)) (*Server, error) {
	return newBounded(cfg, st, open, usualBounds())
}

// newBounded is New with these bounds.
func newBounded(
	cfg Config, st store.Store, open func() (*model.Model, error), b bounds,
) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fault.In("server configuration", err)
	}
	s := newServer(cfg, st, b)
	if err := s.openConfigured(); err != nil {
		return nil, fault.In("server configuration", err)
	}
	var err error
	if s.states, err = state.NewCache(cfg.StateCacheBytes,
		state.Deps{Store: s.traced, Updater: s.updater, Metrics: s.metrics.states}); err != nil {
		return nil, fmt.Errorf("state cache: %w", err)
	}
	if err = s.openArms(open); err != nil {
		return nil, err
	}
	if err = s.openCatalogue(); err == nil {
		err = s.newBackground()
	}
	if err != nil {
		s.arms.Close()
		return nil, err
	}
	if err := s.newServices(); err != nil {
		s.closeModels()
		return nil, err
	}
	return s, nil
}

// newServer returns a server with what cannot fail.
func newServer(cfg Config, st store.Store, b bounds) *Server {
	s := &Server{
		cfg: cfg, log: cfg.Logger, now: cfg.Now, metrics: cfg.Metrics, store: st, traced: st,
		hasher:  calls.NewHasher(cfg.LogKey),
		updater: state.NewUpdater(cfg.EventWeights),
		drain:   newDrain(), bounds: b,
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.metrics == nil {
		s.metrics = NewMetrics()
	}
	if cfg.Tracer != nil {
		s.traced = tracing.Store{Store: st, Provider: cfg.Tracer}
	}
	s.meter = stage.Meter{Metrics: s.metrics.stages, Traced: cfg.Tracer != nil}
	s.started = s.now()
	s.newUsers = ingest.NewQuota(cfg.MaxNewUsers, st)
	s.gate, s.adminGate = s.newGate(calls.OfClients()), s.newGate(calls.OfOperators())
	s.batcher = passes.New(s.metrics.passes)
	return s
}

// openConfigured opens what files of the configuration say.
func (s *Server) openConfigured() (err error) {
	if s.doors, err = s.cfg.openDoors(s.log, s.metrics.doors); err != nil {
		return err
	}
	s.chain = calls.New(calls.Deps{Doors: s.doors, Log: s.log, Users: s.hasher,
		SlowRequest: s.cfg.SlowRequest, Traced: s.cfg.Tracer != nil, Metrics: s.metrics.calls,
		StoreFailed: s.storeFailed, Draining: s.drain.streams})
	if err = s.openEventTypes(); err != nil {
		return err
	}
	s.filters, err = filters.Open(s.cfg.FiltersFile, s.log, s.metrics.filters)
	return err
}

// openCatalogue reads the items of the store, for all models.
func (s *Server) openCatalogue() (err error) {
	s.catalogue, err = catalogue.Open(context.Background(), s.store, s.now(), s.cfg.MaxItems)
	if err != nil {
		return err
	}
	s.arms.UseCatalogue(s.catalogue)
	return nil
}

// newServices builds the servers of the listeners, and registers the metrics.
func (s *Server) newServices() (err error) {
	if err = s.newGRPC(); err != nil {
		return err
	}
	if s.json, err = s.newJSON(); err != nil {
		return err
	}
	s.ops = s.newOps()
	if err = errors.Join(s.metrics.registry.Register(gauges{s}),
		s.metrics.registry.Register(admission.Gauges{s.gate, s.adminGate})); err != nil {
		return fmt.Errorf("metrics are already in use by another server: %w", err)
	}
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

// openArms opens the models of the arms. After an error nothing is open.
func (s *Server) openArms(open func() (*model.Model, error)) (err error) {
	s.popular = popularity.New(popularity.Deps{Store: s.store, Updater: s.updater, Log: s.log,
		HalfLife: s.cfg.PopularityHalfLife, Guard: s.chain.Guard})
	orPopular := func() (*model.Model, error) {
		m, err := open()
		if errors.Is(err, ErrNoModel) {
			return s.popular.Model(context.Background())
		}
		return m, err
	}
	s.arms, err = arms.Open(tracedOpen(s.cfg.Tracer, orPopular), s.cfg.armSources(), arms.Deps{
		Salt: s.cfg.ArmSalt, CanaryEvents: s.cfg.CanaryEvents, CanaryZ: s.cfg.CanaryZ,
		Now: s.now, Models: s.metrics.models, Metrics: s.metrics.arms, Log: s.log})
	if err != nil {
		return err
	}
	s.models = s.arms.Main().Models
	s.popular.Models = s.models
	return nil
}

// newBackground makes the parts that work in the background. It opens the shadow model.
func (s *Server) newBackground() error {
	measured := quality.Deps{
		Store: s.store, Updater: s.updater, Estimator: s.cfg.Estimator,
		Metrics: s.metrics.quality, Guard: s.chain.Guard, ArmOf: s.arms.Split.Of,
		Measured: s.arms.Measured,
	}
	s.credits = credit.New(credit.Deps{Identity: s.store.Identity(), Arms: s.arms.Names(),
		Weights: s.updater.Weights, Metrics: s.metrics.credit})
	s.notices = s.newNotices()
	for _, a := range s.arms.All() {
		of := s.metrics.coldstart
		if a.Index > 0 {
			of = coldstart.NewMetrics() // the series are those of main
		}
		x := coldstart.New(s.cfg.ExtendEvery, coldstart.Deps{
			Store: s.store, Models: a.Models, Updater: s.updater, Metrics: of,
			Log: s.log, Guard: s.chain.Guard, Notices: s.notices, First: a.Index == 0,
		})
		a.OnLoad = x.Wake
		s.extenders = append(s.extenders, x)
		measured.Models = append(measured.Models, a.Models)
		measured.Arms = append(measured.Arms, a.Name)
	}
	var shadow *model.Model
	if open := s.cfg.ShadowModel; open != nil {
		var err error
		if shadow, err = open(); err != nil {
			return fault.In("shadow model", err)
		}
		s.log.Info("shadow model loaded", slog.String("version", shadow.Version()))
	}
	s.quality = quality.New(s.cfg.QualitySample, shadow, measured)
	s.follow = follow.All{s.quality, s.popular, s.extenders}
	return nil
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

// newGRPC registers the services: those of clients on one server, AdminService and reflection on
// another, and health on both. It is an error if a method has no role.
func (s *Server) newGRPC() error {
	s.grpc = grpc.NewServer(append(s.grpcOptions(s.cfg.Listen, s.gate),
		grpc.NumStreamWorkers(streamWorkers))...)
	s.newClientServices()
	s.services.register(s.grpc)
	s.adminGRPC = grpc.NewServer(s.grpcOptions(s.cfg.AdminListen, s.adminGate)...)
	pb.RegisterAdminServiceServer(s.adminGRPC, operate.New(operate.Deps{Bounds: s.operate,
		Arms: s.arms, Store: s.store, Catalogue: s.catalogue, UsersInMemory: s.states.Len,
		BuildVersion: s.cfg.BuildVersion, Started: s.started, Draining: s.isDraining,
		Caller: s.doors.Caller, Level: s.cfg.LogLevel, Log: s.log}))
	s.health = health.NewServer()
	for _, g := range []*grpc.Server{s.grpc, s.adminGRPC} {
		for name := range g.GetServiceInfo() {
			s.health.SetServingStatus(name, healthpb.HealthCheckResponse_SERVING)
		}
		healthpb.RegisterHealthServer(g, s.health)
	}
	if s.cfg.Reflection {
		reflection.Register(s.adminGRPC)
	}
	s.metrics.calls.Initialize(s.grpc)
	s.metrics.calls.Initialize(s.adminGRPC)
	return errors.Join(calls.Missing(s.grpc.GetServiceInfo()),
		calls.Missing(s.adminGRPC.GetServiceInfo()))
}

// services are those of the clients.
type services struct {
	recommend *recommend.Service
	events    pb.EventServiceServer
	users     pb.UserServiceServer
	items     pb.ItemServiceServer
}

// newClientServices makes the services of the clients.
func (s *Server) newClientServices() {
	s.services = services{
		recommend: recommend.New(recommend.Deps{Store: s.store, Arms: s.arms, States: s.states,
			Updater: s.updater, Batcher: s.batcher, Filters: s.filters, Credits: s.credits,
			Estimator: s.cfg.Estimator, Now: s.now, MaxSendBytes: s.cfg.MaxSendBytes,
			Public: s.chain.Public, Meter: s.meter, Metrics: s.metrics.recommend}),
		events: ingest.New(ingest.Deps{Store: s.store, Append: s.traced.Append, Arms: s.arms,
			States: s.states, Follow: s.follow, Credits: s.credits,
			NewUsers: s.newUsers, ReadAhead: s.readAhead,
			StreamIdle: s.cfg.StreamIdle, Draining: s.drain.streams, Cut: s.drain.cut,
			Guard: s.chain.Guard, Now: s.now, HashUser: s.hasher.Hash, Meter: s.meter,
			Metrics: s.metrics.events, Log: s.log}),
		users: users.New(users.Deps{Bounds: s.users, Store: s.store, Arms: s.arms,
			States: s.states, Updater: s.updater, Follow: s.follow,
			Estimator: s.cfg.Estimator, Now: s.now, Draining: s.drain.streams, Log: s.log}),
		items: items.New(items.Deps{Catalogue: s.catalogue, Models: s.models}),
	}
}

// register registers the services of clients.
func (of *services) register(g *grpc.Server) {
	of.recommend.Register(g)
	pb.RegisterEventServiceServer(g, of.events)
	pb.RegisterUserServiceServer(g, of.users)
	pb.RegisterItemServiceServer(g, of.items)
}

// grpcOptions are those of the server on an address. The library's own limits are absent or
// generous, so each is set.
func (s *Server) grpcOptions(address string, gate *admission.Gate) []grpc.ServerOption {
	options := s.chain.Options(gate)
	if c := s.doors.Credentials(); c != nil && !strings.HasPrefix(address, unixPrefix) {
		options = append(options, grpc.Creds(c))
	}
	if s.cfg.Tracer != nil {
		options = append(options, grpc.StatsHandler(tracing.Handler(s.cfg.Tracer, calls.Traced)))
	}
	return append(options,
		grpc.ForceServerCodecV2(wire.NewCodec(valid.Limits)),
		grpc.MaxRecvMsgSize(s.cfg.MaxRecvBytes),
		grpc.MaxSendMsgSize(s.cfg.MaxSendBytes),
		grpc.MaxConcurrentStreams(s.cfg.MaxConcurrentStreams),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: keepaliveTime, Timeout: keepaliveTimeout, MaxConnectionIdle: maxConnectionIdle,
			MaxConnectionAge: s.cfg.MaxConnectionAge, MaxConnectionAgeGrace: maxConnectionAgeGrace,
		}),
		// The library's default of 5 min cuts off clients with customary keepalive settings.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveMinTime,
			PermitWithoutStream: true}),
		grpc.WaitForHandlers(true),
	)
}

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
// new calls are refused, and calls in flight have DrainTimeout to finish. It returns nil after a
// drain, even if calls had to be cut off, since that loses no acknowledged event. Calls and work
// that do not end are left behind. It may be called once. The store is not closed.
func (s *Server) Serve(ctx context.Context, l Listeners) error {
	defer s.arms.Close()
	failed := make(chan error, 4)
	go func() { failed <- s.grpc.Serve(s.limited(l.GRPC, s.cfg.MaxConnections)) }()
	if s.json != nil {
		on := l.JSON
		if on != nil {
			on = s.limited(on, s.cfg.MaxConnections)
		}
		go func() { failed <- s.json.serve(on) }()
	}
	go func() { failed <- s.adminGRPC.Serve(s.limited(l.Admin, maxAdminConnections)) }()
	go func() { failed <- s.ops.Serve(s.limited(l.Ops, maxOpsConnections)) }()
	watch, stopWatch := context.WithCancel(ctx)
	defer stopWatch()
	go s.watchStore(watch)
	var background sync.WaitGroup
	background.Go(func() { s.quality.Run(watch) })
	background.Go(func() { s.popular.Run(watch) })
	for _, x := range s.extenders {
		background.Go(func() { x.Run(watch) })
	}
	background.Go(func() { s.notices.Run(watch) })
	background.Go(func() { s.watchCatalogue(watch) })
	background.Go(func() { s.doors.Watch(watch, doors.Poll) })
	background.Go(func() { s.types.Watch(watch, doors.Poll) })
	background.Go(func() { s.filters.Watch(watch, doors.Poll) })
	s.logServing(ctx, l)

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
	if finishedWithin(ended(background.Wait), backgroundGrace) {
		s.quality.Close()
	} else { // it uses the shadow model
		s.log.Warn("background work does not end: leaving it behind")
	}
	return errors.Join(err, <-opsClosed)
}

// logServing writes the first line of a server that is ready.
func (s *Server) logServing(ctx context.Context, on Listeners) {
	l := s.models.Acquire()
	defer l.Release()
	m := models.Describe(l)
	attrs := []slog.Attr{
		slog.String("version", s.cfg.BuildVersion),
		slog.String("model", m.GetVersion()), slog.String("dynamics", m.GetDynamics()),
		slog.Int64("items", m.GetItemCount()), slog.Int64("rank", int64(m.GetRank())),
		slog.String("grpc", on.GRPC.Addr().String()),
		slog.String("admin", addressOf(on.Admin)), slog.String("ops", on.Ops.Addr().String()),
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

// closeModels gives all models back, of a server that does not serve.
func (s *Server) closeModels() {
	s.json.stop()
	s.quality.Close()
	s.arms.Close()
}

// ModelVersion returns the version of the file of the serving model, extended or not; empty if
// there is none, and once the server has stopped.
func (s *Server) ModelVersion() string {
	l := s.models.Acquire()
	if l == nil {
		return ""
	}
	defer l.Release()
	if !l.Personal() {
		return ""
	}
	return l.Base().Version()
}

// Reload opens the model anew and lets it serve, and so the models of the arms, and reads the file
// of event types again. On an error the old model goes on serving; that of an arm or of the types
// is logged alone. Reload is safe for concurrent use. Calls that come while a model is being opened
// share the next opening. The end of ctx ends the waiting.
func (s *Server) Reload(ctx context.Context) error {
	if s.types != nil {
		s.types.LookNow(ctx)
	}
	l, _, err := s.models.Reload(ctx)
	if err == nil {
		l.Release()
	}
	_ = s.arms.ReloadOthers(ctx)
	return err
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
