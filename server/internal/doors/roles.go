package doors

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	alphapb "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// A Role is what a token may be good for. No role includes another.
type Role string

// The roles.
const (
	Recommend Role = "recommend" // ask for lists
	Observe   Role = "observe"   // send events
	User      Role = "user"      // look at users, take events back and delete them
	Items     Role = "items"     // look at the catalogue and change it
	Admin     Role = "admin"     // operate the server

	open Role = "" // of methods that need no token
)

// Roles returns all roles.
func Roles() []Role { return []Role{Recommend, Observe, User, Items, Admin} }

// roles is the role of each method. [Missing] finds what is not here.
var roles = map[string]Role{
	pb.RecommenderService_Recommend_FullMethodName:      Recommend,
	pb.RecommenderService_BatchRecommend_FullMethodName: Recommend,
	pb.RecommenderService_ScoreItems_FullMethodName:     Recommend,
	pb.RecommenderService_SimilarItems_FullMethodName:   Recommend,
	pb.RecommenderService_GetSpectrum_FullMethodName:    Recommend,

	pb.EventService_Observe_FullMethodName:       Observe,
	pb.EventService_BatchObserve_FullMethodName:  Observe,
	pb.EventService_StreamObserve_FullMethodName: Observe,

	pb.UserService_GetUser_FullMethodName:        User,
	pb.UserService_ListUserEvents_FullMethodName: User,
	pb.UserService_ExportUser_FullMethodName:     User,
	pb.UserService_RetractEvents_FullMethodName:  User,
	pb.UserService_MergeUsers_FullMethodName:     User,
	pb.UserService_DeleteUser_FullMethodName:     User,

	pb.ItemService_BatchUpsertItems_FullMethodName: Items,
	pb.ItemService_GetItem_FullMethodName:          Items,
	pb.ItemService_ListItems_FullMethodName:        Items,
	pb.ItemService_BatchDeleteItems_FullMethodName: Items,
	pb.ItemService_SearchItems_FullMethodName:      Items,
	pb.ItemService_BatchGetItems_FullMethodName:    Items,

	pb.AdminService_GetStatus_FullMethodName:        Admin,
	pb.AdminService_ListModels_FullMethodName:       Admin,
	pb.AdminService_ReloadModel_FullMethodName:      Admin,
	pb.AdminService_CreateCheckpoint_FullMethodName: Admin,
	pb.AdminService_SetLogLevel_FullMethodName:      Admin,

	reflectionpb.ServerReflection_ServerReflectionInfo_FullMethodName: Admin,
	alphapb.ServerReflection_ServerReflectionInfo_FullMethodName:      Admin,

	// Load balancers ask for health, and it says no more than whether there is a server.
	healthpb.Health_Check_FullMethodName: open,
	healthpb.Health_List_FullMethodName:  open,
	healthpb.Health_Watch_FullMethodName: open,
}

// Audited reports whether the calls of a method are those of operators or about users, of which a
// server keeps an account.
func Audited(fullMethod string) bool {
	role := roles[fullMethod]
	return role == User || role == Admin
}

// Traced reports whether the calls of a method are work of a client or an operator, of which a
// trace may tell: names that clients make up are not, nor are probes.
func Traced(fullMethod string) bool { return roles[fullMethod] != open }

// Missing returns an error that names the methods of a server without a role; nil: there are none.
// A server must not start with them.
func Missing(services map[string]grpc.ServiceInfo) error {
	var missing []error
	for _, service := range slices.Sorted(maps.Keys(services)) {
		for _, m := range services[service].Methods {
			method := "/" + service + "/" + m.Name
			if _, ok := roles[method]; !ok {
				missing = append(missing, fmt.Errorf("doors: %s has no role", method))
			}
		}
	}
	return errors.Join(missing...)
}

// parseRoles reads "recommend,observe". The error does not show the text.
func parseRoles(text string) (map[Role]bool, error) {
	has := map[Role]bool{}
	for word := range strings.SplitSeq(text, ",") {
		role := Role(word)
		if !slices.Contains(Roles(), role) {
			return nil, errors.New("a role that is not one of " + roleNames())
		}
		has[role] = true
	}
	return has, nil
}

// roleNames lists the roles for people.
func roleNames() string {
	var names []string
	for _, role := range Roles() {
		names = append(names, string(role))
	}
	return strings.Join(names, ", ")
}
