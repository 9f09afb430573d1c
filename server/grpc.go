package server

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/wire"
	"github.com/gsimc/gsimc/server/internal/admission"
	"github.com/gsimc/gsimc/server/internal/calls"
	"github.com/gsimc/gsimc/server/internal/console"
	"github.com/gsimc/gsimc/server/internal/gauges"
	"github.com/gsimc/gsimc/server/internal/operate"
	"github.com/gsimc/gsimc/server/internal/socket"
	"github.com/gsimc/gsimc/server/internal/tracing"
	"github.com/gsimc/gsimc/server/internal/valid"
)

// servers are those of the listeners.
type servers struct {
	grpc      *grpc.Server    // of the clients
	adminGRPC *grpc.Server    // of the operators
	gate      *admission.Gate // of the clients
	adminGate *admission.Gate // of the operators
	health    *health.Server
	ops       *http.Server
	json      *jsonSide     // nil: there is none
	past      *console.Past // nil: there is no console
}

// newServers builds the servers of the listeners, and registers the metrics. started is the time at
// which the server began to be built.
func (s *Server) newServers(started time.Time) (err error) {
	if err = s.newGRPC(started); err != nil {
		return err
	}
	if s.json, err = s.newJSON(); err != nil {
		return err
	}
	if s.cfg.servesConsole() {
		s.past = console.NewPast(s.metrics.registry)
	}
	s.ops = s.newOps()
	read := gauges.Gauges{States: s.states, Catalogue: s.catalogue, Arms: s.arms,
		Stats: s.storeStats, Build: s.cfg.BuildVersion, Draining: s.isDraining,
		ModelBehind: s.modelBehind}
	if err = errors.Join(s.metrics.registry.Register(read),
		s.metrics.registry.Register(admission.Gauges{s.gate, s.adminGate})); err != nil {
		return fmt.Errorf("metrics are already in use by another server: %w", err)
	}
	return nil
}

// newGRPC registers the services: those of clients on one server, AdminService and reflection on
// another, and health on both. It is an error if a method has no role.
func (s *Server) newGRPC(started time.Time) error {
	s.gate, s.adminGate = s.newGate(calls.OfClients()), s.newGate(calls.OfOperators())
	s.grpc = grpc.NewServer(append(s.grpcOptions(s.cfg.Listen, s.gate),
		grpc.NumStreamWorkers(streamWorkers))...)
	s.services.register(s.grpc)
	s.adminGRPC = grpc.NewServer(s.grpcOptions(s.cfg.AdminListen, s.adminGate)...)
	s.services.admin = operate.New(operate.Deps{Bounds: s.operate,
		Arms: s.arms, Credits: s.credits, Store: s.store, Catalogue: s.catalogue,
		UsersInMemory: s.states.Len, BuildVersion: s.cfg.BuildVersion, Started: started,
		Draining: s.isDraining, Caller: s.chain.Caller, Level: s.cfg.LogLevel, Log: s.log})
	pb.RegisterAdminServiceServer(s.adminGRPC, s.services.admin)
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

// register registers the services of clients.
func (of *services) register(g grpc.ServiceRegistrar) {
	of.recommend.Register(g)
	pb.RegisterEventServiceServer(g, of.events)
	pb.RegisterUserServiceServer(g, of.users)
	pb.RegisterItemServiceServer(g, of.items)
}

// grpcOptions are those of the server on an address. The library's own limits are absent or
// generous, so each is set.
func (s *Server) grpcOptions(address string, gate *admission.Gate) []grpc.ServerOption {
	options := s.chain.Options(gate)
	if c := s.doors.Credentials(); c != nil && !strings.HasPrefix(address, socket.UnixPrefix) {
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
