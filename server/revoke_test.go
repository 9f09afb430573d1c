package server

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/certtest"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/admission"
	"github.com/gsimc/gsimc/server/internal/calls"
	"github.com/gsimc/gsimc/store/memory"
)

// Open streams of every kind end when their token is removed or loses its role, and no others.
func TestStreamsEndWithTheirToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(lines ...string) string {
		return certtest.Write(t, dir, "tokens", []byte(strings.Join(lines, "\n")))
	}
	token := func(name, roles string) (string, string) {
		token, line, err := NewToken(name, roles)
		must(t, err)
		return token, line
	}
	removed, removedLine := token("removed", "observe,admin")
	lesser, lesserLine := token("lesser", "observe,recommend")
	kept, keptLine := token("kept", "observe,admin")
	path := write(removedLine, lesserLine, keptLine)
	ts := start(t, setup{store: &checkpointer{Store: memory.New()},
		config: func(c *Config) { c.TokenFile = path }})

	streams := map[string]func() error{}
	observe := func(name, token string) {
		s := check.Get(ts.events.StreamObserve(bearing(ctx(t), token)))(t)
		streams[name] = func() error { _, err := s.Recv(); return err }
	}
	observe("removed", removed)
	observe("lesser", lesser)
	observe("kept", kept)
	for name, token := range map[string]string{"removed ": removed, "kept ": kept} {
		checkpoint, err := ts.checkpoint(bearing(ctx(t), token))
		must(t, err)
		streams[name+"checkpoint"] = func() error { _, err := checkpoint.Recv(); return err }
		reflection, err := grpc_reflection_v1.NewServerReflectionClient(
			ts.adminConn).ServerReflectionInfo(bearing(ctx(t), token))
		must(t, err)
		streams[name+"reflection"] = func() error {
			// It waits for messages only, and so ends with the next.
			must(t, reflection.Send(&grpc_reflection_v1.ServerReflectionRequest{}))
			_, err := reflection.Recv()
			return err
		}
	}
	running := func() int {
		return int(value1(t, ts, `gsimc_calls_under_way{class="stream",state="running"}`) +
			value1(t, ts, `gsimc_calls_under_way{class="admin",state="running"}`))
	}
	eventually(t, "all streams run", func() bool { return running() == len(streams) })

	write(strings.Replace(lesserLine, "observe,", "", 1), keptLine)
	for _, name := range []string{"removed", "removed checkpoint", "removed reflection"} {
		want := problem{Code: codes.Unauthenticated, Reason: "UNAUTHENTICATED"}
		same(t, want, problemOf(t, streams[name]()), "the stream %q ends with", name)
	}
	want := problem{Code: codes.PermissionDenied, Reason: "PERMISSION_DENIED"}
	same(t, want, problemOf(t, streams["lesser"]()), "the stream without a role ends with")
	eventually(t, "the streams of the token that stays are left",
		func() bool { return running() == 3 })
}

// auditLines are the lines of the account, without their times.
func auditLines(t *testing.T, logs string) (lines []string) {
	t.Helper()
	for line := range strings.Lines(logs) {
		var r struct {
			Msg, Caller, Error string
			Method             string `json:"grpc.method"`
			Code               string `json:"grpc.code"`
		}
		must(t, json.Unmarshal([]byte(line), &r))
		if strings.HasPrefix(r.Msg, "audit") {
			method := r.Method[strings.LastIndex(r.Method, "/")+1:]
			lines = append(lines, strings.Join(slices.DeleteFunc([]string{r.Msg, method, r.Caller,
				r.Code, r.Error}, func(s string) bool { return s == "" }), " | "))
		}
	}
	slices.Sort(lines)
	return lines
}

// Each call of an operator, about a user, or that changes the catalogue has a line in the log that
// says who made it and how it ended, and no id. Calls that are refused share lines.
func TestAudit(t *testing.T) {
	ts, tokens := withTokens(t, nil, "recommend,observe", "user,admin,items")
	const canary = "canary-7f3a"
	with, without := bearing(ctx(t), tokens[1]), bearing(ctx(t), tokens[0])
	check.Get(ts.events.Observe(without, &pb.ObserveRequest{Event: &pb.Event{UserId: canary,
		ItemId: canary}}))(t)
	for range 2 {
		_, _ = ts.users.DeleteUser(with, &pb.DeleteUserRequest{UserId: canary})
	}
	_, _ = ts.users.GetUser(with, &pb.GetUserRequest{})
	_, _ = ts.items.BatchUpsertItems(with, &pb.BatchUpsertItemsRequest{
		Items: []*pb.Item{{ItemId: canary}}})
	_, _ = ts.items.GetItem(with, &pb.GetItemRequest{ItemId: canary}) // which changes nothing
	_, _ = ts.items.SaveNamedFilter(with, &pb.SaveNamedFilterRequest{Name: "n", Entry: canary,
		Version: "v"})
	_, _ = ts.items.BatchDeleteItems(with, &pb.BatchDeleteItemsRequest{ItemIds: []string{canary}})
	_, _ = ts.admin.GetStatus(with, &pb.GetStatusRequest{})
	_, _ = ts.checkpoint(with)
	for range 20 {
		_, _ = ts.users.DeleteUser(without, &pb.DeleteUserRequest{UserId: canary})
		_, _ = ts.admin.ReloadModel(ctx(t), &pb.ReloadModelRequest{})
	}
	want := []string{
		"audit | BatchDeleteItems | client-1 | OK",
		"audit | BatchUpsertItems | client-1 | OK",
		"audit | CreateCheckpoint | client-1 | FailedPrecondition",
		"audit | DeleteUser | client-1 | NotFound",
		"audit | DeleteUser | client-1 | OK",
		"audit | GetStatus | client-1 | OK",
		"audit | GetUser | client-1 | InvalidArgument",
		"audit | SaveNamedFilter | client-1 | FailedPrecondition",
		"audit: call refused | DeleteUser | PermissionDenied | " +
			"doors: the token client-0 lacks the role user",
		"audit: call refused | ReloadModel | Unauthenticated | " +
			"doors: no token, or an unknown one",
	}
	var got []string
	eventually(t, "the streams' lines are there", func() bool {
		// A busy machine takes more than a second, and so more than a line.
		got = slices.CompactFunc(auditLines(t, ts.logs.String()), func(a, b string) bool {
			return a == b && strings.HasPrefix(a, "audit: ")
		})
		return len(got) >= len(want)
	})
	same(t, want, got, "the account")
	check.Lacks(t, ts.logs.String(), canary, "the log, which may have no id")
}

// TestAuditOfFullServer fills the gates of both listeners: the calls that are refused by their
// headers share a line of the account, if they are of an operator or about a user.
func TestAuditOfFullServer(t *testing.T) {
	ts := start(t, setup{})
	for method, gate := range map[string]*admission.Gate{
		pb.AdminService_ReloadModel_FullMethodName: ts.newGate(calls.OfOperators()),
		pb.UserService_DeleteUser_FullMethodName:   ts.newGate(calls.OfClients()),
		pb.EventService_Observe_FullMethodName:     ts.newGate(calls.OfClients()),
	} {
		refused := 0
		for call := 0; refused < 20 && call < 10000; call++ {
			// without a deadline it is refused at once
			if _, err := ts.chain.Tap(t.Context(), gate, method); err != nil {
				refused++
			}
		}
		if refused < 20 {
			t.Fatalf("%s: the gate is never full", method)
		}
	}
	want := []string{
		"audit: call refused | DeleteUser | ResourceExhausted | " +
			"admission: no room for a call of class other: limit",
		"audit: call refused | ReloadModel | ResourceExhausted | " +
			"admission: no room for a call of class admin: limit",
	}
	got := slices.Compact(auditLines(t, ts.logs.String())) // a busy machine may take a second
	same(t, want, got, "the account")
}

// TestAuditOfRefusedMessages makes calls that are refused when their message is there, as those
// with far deadlines are: they share a line too.
func TestAuditOfRefusedMessages(t *testing.T) {
	release := make(chan struct{})
	hooked := &hookedStore{Store: memory.New(),
		EraseFunc: func(context.Context, string) (uint64, error) {
			<-release
			return 0, nil
		}}
	ts := start(t, setup{store: hooked, config: func(c *Config) { c.MaxInFlight = 1 }})
	erase := func() error {
		_, err := ts.users.DeleteUser(ctx(t), &pb.DeleteUserRequest{UserId: "ann"})
		return err
	}
	var busy sync.WaitGroup
	for range 2 { // one runs and one waits
		busy.Go(func() { _ = erase() })
	}
	eventually(t, "the class is full", func() bool {
		return value1(t, ts, `gsimc_calls_under_way{class="other",state="queued"}`) == 1
	})
	for range 50 {
		same(t, codes.ResourceExhausted, status.Code(erase()),
			"a call that there is no room for ends with")
	}
	got := slices.Compact(auditLines(t, ts.logs.String())) // a busy machine may take a second
	close(release)
	busy.Wait()
	want := []string{"audit: call refused | DeleteUser | ResourceExhausted | " +
		"admission: no room for a call of class other: limit"}
	same(t, want, got, "the account")
}
