package calls

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	alphapb "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server/internal/admission"
	"github.com/gsimc/gsimc/server/internal/doors"
)

// method is what the server knows of a method besides its handler.
type method struct {
	role  doors.Role
	class admission.Class
	// a stream answers or takes several messages; a feed is a stream that takes several
	stream, feed bool
	user         func(req any) string // the user that a request is about; nil: none
	// a token that is bound to a user may call it, about that user or about nobody
	self bool
}

// table has every method that is served: the server does not start with another, see [Missing].
var table = map[string]method{
	pb.RecommenderService_Recommend_FullMethodName: {
		role: doors.Recommend, class: admission.Recommend, user: userID, self: true},
	pb.RecommenderService_BatchRecommend_FullMethodName: {
		role: doors.Recommend, class: admission.Lists},
	pb.RecommenderService_RecommendPage_FullMethodName: { // a visitor waits for it
		role: doors.Recommend, class: admission.Recommend, user: userID, self: true},
	pb.RecommenderService_ScoreItems_FullMethodName: {
		role: doors.Recommend, class: admission.Recommend, user: userID, self: true},
	pb.RecommenderService_SimilarItems_FullMethodName: {
		role: doors.Recommend, class: admission.Recommend, self: true},
	pb.RecommenderService_GetSpectrum_FullMethodName: {
		role: doors.Recommend, class: admission.Recommend, user: userID, self: true},

	pb.EventService_Observe_FullMethodName: {
		role: doors.Observe, class: admission.Observe, user: userOfEvent, self: true},
	pb.EventService_BatchObserve_FullMethodName: {role: doors.Observe, class: admission.Batch},
	pb.EventService_StreamObserve_FullMethodName: {
		role: doors.Observe, class: admission.Stream, stream: true, feed: true},

	pb.UserService_GetUser_FullMethodName: {
		role: doors.User, class: admission.Other, user: userID, self: true},
	pb.UserService_ListUserEvents_FullMethodName: {
		role: doors.User, class: admission.Other, user: userID, self: true},
	pb.UserService_ExportUser_FullMethodName: {
		role: doors.User, class: admission.Other, stream: true, user: userID, self: true},
	pb.UserService_ListUsers_FullMethodName: {
		role: doors.User, class: admission.Other, stream: true},
	pb.UserService_BatchGetChanges_FullMethodName: {role: doors.User, class: admission.Other},
	pb.UserService_RetractEvents_FullMethodName: {
		role: doors.User, class: admission.Other, user: userID, self: true},
	pb.UserService_MergeUsers_FullMethodName: {
		role: doors.User, class: admission.Other, user: targetUser},
	pb.UserService_DeleteUser_FullMethodName: {
		role: doors.User, class: admission.Other, user: userID, self: true},

	pb.ItemService_BatchUpsertItems_FullMethodName: {role: doors.Items, class: admission.Batch},
	pb.ItemService_BatchDeleteItems_FullMethodName: {role: doors.Items, class: admission.Batch},
	pb.ItemService_GetItem_FullMethodName:          {role: doors.Items, class: admission.Other},
	pb.ItemService_ListItems_FullMethodName:        {role: doors.Items, class: admission.Other},
	pb.ItemService_SearchItems_FullMethodName:      {role: doors.Items, class: admission.Other},
	pb.ItemService_BatchGetItems_FullMethodName:    {role: doors.Items, class: admission.Other},
	pb.ItemService_ListNamedFilters_FullMethodName: {role: doors.Items, class: admission.Other},
	pb.ItemService_SaveNamedFilter_FullMethodName:  {role: doors.Items, class: admission.Batch},

	pb.AdminService_GetStatus_FullMethodName:   {role: doors.Admin, class: admission.Admin},
	pb.AdminService_ListModels_FullMethodName:  {role: doors.Admin, class: admission.Admin},
	pb.AdminService_ReloadModel_FullMethodName: {role: doors.Admin, class: admission.Admin},
	pb.AdminService_CreateCheckpoint_FullMethodName: {
		role: doors.Admin, class: admission.Admin, stream: true},
	pb.AdminService_SetLogLevel_FullMethodName: {role: doors.Admin, class: admission.Admin},
	pb.AdminService_SetTraffic_FullMethodName:  {role: doors.Admin, class: admission.Admin},

	reflectionpb.ServerReflection_ServerReflectionInfo_FullMethodName: {
		role: doors.Admin, class: admission.Admin, stream: true, feed: true},
	alphapb.ServerReflection_ServerReflectionInfo_FullMethodName: {
		role: doors.Admin, class: admission.Admin, stream: true, feed: true},

	// Load balancers ask for health, and it says no more than whether there is a server.
	healthpb.Health_Check_FullMethodName: {role: doors.Anybody, class: admission.Probe},
	healthpb.Health_List_FullMethodName:  {role: doors.Anybody, class: admission.Probe},
	healthpb.Health_Watch_FullMethodName: {
		role: doors.Anybody, class: admission.Watch, stream: true},
}

// userID is the user of requests with a field of that name.
func userID(req any) string { return req.(interface{ GetUserId() string }).GetUserId() }

func userOfEvent(req any) string { return req.(*pb.ObserveRequest).GetEvent().GetUserId() }

func targetUser(req any) string { return req.(*pb.MergeUsersRequest).GetTargetUserId() }

// userOf is the user that a request of a method is about; empty: it is about none.
func userOf(fullMethod string, req any) string {
	of := table[fullMethod].user
	if of == nil {
		return ""
	}
	return of(req)
}

// Roles returns the role of each method.
func Roles() map[string]doors.Role {
	roles := make(map[string]doors.Role, len(table))
	for name, m := range table {
		roles[name] = m.role
	}
	return roles
}

// OfClients returns how the methods of the listener of clients are admitted. Each of the two
// listeners has a gate of its own, so that clients take no room of operators, whatever they call.
func OfClients() map[string]admission.Method {
	return admitted(func(r doors.Role) bool { return r != doors.Admin })
}

// OfOperators returns how the methods of the listener of operators are admitted.
func OfOperators() map[string]admission.Method {
	return admitted(func(r doors.Role) bool { return r == doors.Admin || r == doors.Anybody })
}

func admitted(served func(doors.Role) bool) map[string]admission.Method {
	methods := map[string]admission.Method{}
	for name, m := range table {
		if served(m.role) {
			methods[name] = admission.Method{Class: m.class, Stream: m.stream, Feed: m.feed}
		}
	}
	return methods
}

// audited reports whether the calls of a method are those of operators or about users, or change
// the catalogue or a filter: a server keeps an account of them.
func audited(fullMethod string) bool {
	m := table[fullMethod]
	return m.role == doors.User || m.role == doors.Admin ||
		m.role == doors.Items && m.class == admission.Batch
}

// Traced reports whether the calls of a method are work of a client or an operator, of which a
// trace may tell: names that clients make up are not, nor are probes.
func Traced(fullMethod string) bool { return table[fullMethod].role != doors.Anybody }

// Missing returns an error that names the methods of a server that are not in the table; nil: there
// are none. A server must not start with them.
func Missing(services map[string]grpc.ServiceInfo) error {
	var missing []error
	for _, service := range slices.Sorted(maps.Keys(services)) {
		for _, m := range services[service].Methods {
			name := "/" + service + "/" + m.Name
			if _, ok := table[name]; !ok {
				missing = append(missing, fmt.Errorf("calls: %s has no role", name))
			}
		}
	}
	return errors.Join(missing...)
}
