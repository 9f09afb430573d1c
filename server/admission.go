package server

import (
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	alphapb "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server/internal/admission"
	"github.com/gsimc/gsimc/server/internal/doors"
	"github.com/gsimc/gsimc/server/internal/outcome"
)

// How the methods of the two listeners are admitted. Each has a gate of its own, so that clients
// take no room of operators, whatever they call.
var (
	admittedClients = withHealth(map[string]admission.Method{
		pb.RecommenderService_Recommend_FullMethodName:      {Class: admission.Recommend},
		pb.RecommenderService_BatchRecommend_FullMethodName: {Class: admission.Lists},
		pb.RecommenderService_ScoreItems_FullMethodName:     {Class: admission.Recommend},
		pb.RecommenderService_SimilarItems_FullMethodName:   {Class: admission.Recommend},
		pb.RecommenderService_GetSpectrum_FullMethodName:    {Class: admission.Recommend},

		pb.EventService_Observe_FullMethodName:      {Class: admission.Observe},
		pb.EventService_BatchObserve_FullMethodName: {Class: admission.Batch},
		pb.EventService_StreamObserve_FullMethodName: {
			Class: admission.Stream, Stream: true, Feed: true},

		pb.UserService_GetUser_FullMethodName:        {Class: admission.Other},
		pb.UserService_ListUserEvents_FullMethodName: {Class: admission.Other},
		pb.UserService_ExportUser_FullMethodName:     {Class: admission.Other, Stream: true},
		pb.UserService_RetractEvents_FullMethodName:  {Class: admission.Other},
		pb.UserService_MergeUsers_FullMethodName:     {Class: admission.Other},
		pb.UserService_DeleteUser_FullMethodName:     {Class: admission.Other},

		pb.ItemService_BatchUpsertItems_FullMethodName: {Class: admission.Batch},
		pb.ItemService_BatchDeleteItems_FullMethodName: {Class: admission.Batch},
		pb.ItemService_GetItem_FullMethodName:          {Class: admission.Other},
		pb.ItemService_ListItems_FullMethodName:        {Class: admission.Other},
		pb.ItemService_SearchItems_FullMethodName:      {Class: admission.Other},
		pb.ItemService_BatchGetItems_FullMethodName:    {Class: admission.Other},
	})
	admittedOperators = withHealth(map[string]admission.Method{
		pb.AdminService_GetStatus_FullMethodName:        {Class: admission.Admin},
		pb.AdminService_ListModels_FullMethodName:       {Class: admission.Admin},
		pb.AdminService_ReloadModel_FullMethodName:      {Class: admission.Admin},
		pb.AdminService_CreateCheckpoint_FullMethodName: {Class: admission.Admin, Stream: true},
		pb.AdminService_SetLogLevel_FullMethodName:      {Class: admission.Admin},

		reflectionpb.ServerReflection_ServerReflectionInfo_FullMethodName: {
			Class: admission.Admin, Stream: true, Feed: true},
		alphapb.ServerReflection_ServerReflectionInfo_FullMethodName: {
			Class: admission.Admin, Stream: true, Feed: true},
	})
)

// withHealth adds the methods that both listeners have.
func withHealth(methods map[string]admission.Method) map[string]admission.Method {
	methods[healthpb.Health_Check_FullMethodName] = admission.Method{Class: admission.Probe}
	methods[healthpb.Health_List_FullMethodName] = admission.Method{Class: admission.Probe}
	methods[healthpb.Health_Watch_FullMethodName] = admission.Method{
		Class: admission.Watch, Stream: true}
	return methods
}

// newGate makes the gate that all calls of a listener pass.
func (s *Server) newGate(methods map[string]admission.Method) *admission.Gate {
	return admission.New(admission.Config{
		Methods:        methods,
		DefaultTimeout: s.cfg.DefaultTimeout, MaxTimeout: s.cfg.MaxTimeout,
		MaxInFlight: s.cfg.MaxInFlight, MaxStreams: s.cfg.MaxStreams,
		// A client has a connection and watches the health by it.
		MaxWatches: s.cfg.MaxConnections, MaxReceiving: maxReceiving,
	}, s.metrics.admission)
}

// Clients that do not read lose their connections, see [admission.Bounds].
const (
	sendTimeout   = 30 * time.Second
	maxUnreadSize = 64 << 20
)

// limited is a listener with a bounded number of connections, and of bytes that wait for them.
func (s *Server) limited(l net.Listener, connections int) net.Listener {
	return admission.Limit(l, admission.Bounds{Connections: connections,
		AnswerTime: s.sendTimeout, AnswerBytes: s.maxUnreadSize}, s.metrics.admission)
}

// admit is the part of the tap that asks the gate. A call that it refuses reaches no interceptor,
// so its account is here.
func (s *Server) admit(
	ctx context.Context, gate *admission.Gate, method string,
) (context.Context, error) {
	ctx, err := gate.Admit(ctx, method)
	if err == nil {
		return ctx, nil
	}
	st := outcome.Status(err)
	if doors.Audited(method) {
		s.refusals.add(method, st.Code(), cause(err))
	}
	return ctx, st.Err()
}

// pushback tells clients that repeat calls by themselves when they may.
func pushback(ctx context.Context, err error) {
	if errors.As(err, new(*admission.RefusedError)) {
		// It fails for calls that are not of a server only.
		_ = grpc.SetTrailer(ctx, metadata.Pairs("grpc-retry-pushback-ms",
			strconv.FormatInt(outcome.RetryOverload.Milliseconds(), 10)))
	}
}
