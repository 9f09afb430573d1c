package calls

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/doors"
)

// The table has the methods of the protocol, each with a role, and no methods that are not there.
func TestRolesAreThoseOfTheProtocol(t *testing.T) {
	left := maps.Clone(table)
	for _, file := range []protoreflect.FileDescriptor{
		pb.File_gsimc_v1_recommender_service_proto, pb.File_gsimc_v1_event_service_proto,
		pb.File_gsimc_v1_user_service_proto, pb.File_gsimc_v1_admin_service_proto,
		pb.File_gsimc_v1_item_service_proto,
	} {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				of := service.Methods().Get(j)
				method := fmt.Sprintf("/%s/%s", service.FullName(), of.Name())
				if !slices.Contains(doors.Roles(), table[method].role) {
					t.Errorf("%s has the role %q", method, table[method].role)
				}
				check.Same(t, namesUser(of), table[method].user != nil, "%s tells of its user",
					method)
				delete(left, method)
			}
		}
	}
	for method := range left {
		if !strings.HasPrefix(method, "/grpc.") {
			t.Errorf("the protocol has no %s", method)
		}
	}
}

func TestMissing(t *testing.T) {
	info := map[string]grpc.ServiceInfo{"gsimc.v1.UserService": {Methods: []grpc.MethodInfo{
		{Name: "GetUser"}, {Name: "DeleteUser"}}}}
	check.Pass(t, Missing(info), "known methods")
	info["gsimc.v1.UserService"] = grpc.ServiceInfo{Methods: []grpc.MethodInfo{{Name: "GetUser"},
		{Name: "RenameUser"}}}
	if err := Missing(info); err == nil ||
		err.Error() != "calls: /gsimc.v1.UserService/RenameUser has no role" {
		t.Errorf("an unknown method: %v", err)
	}
}

// namesUser reports whether a call of a method is about one user, whom its request names.
func namesUser(of protoreflect.MethodDescriptor) bool {
	if of.IsStreamingClient() {
		return false
	}
	fields := of.Input().Fields()
	return fields.ByName("user_id") != nil || fields.ByName("target_user_id") != nil ||
		of.Name() == "Observe"
}

// The user of a request is found whatever field names it.
func TestUserOf(t *testing.T) {
	for method, req := range map[string]any{
		pb.RecommenderService_Recommend_FullMethodName: &pb.RecommendRequest{
			Subject: &pb.RecommendRequest_UserId{UserId: "ann"}},
		pb.EventService_Observe_FullMethodName: &pb.ObserveRequest{
			Event: &pb.Event{UserId: "ann"}},
		pb.UserService_MergeUsers_FullMethodName: &pb.MergeUsersRequest{SourceUserId: "bob",
			TargetUserId: "ann"},
		pb.UserService_GetUser_FullMethodName: &pb.GetUserRequest{UserId: "ann"},
	} {
		check.Same(t, "ann", userOf(method, req), "%s is about", method)
	}
	check.Same(t, "", userOf(pb.AdminService_GetStatus_FullMethodName, &pb.GetStatusRequest{}),
		"GetStatus is about")
}
