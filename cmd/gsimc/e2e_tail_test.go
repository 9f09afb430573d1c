package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
)

// lake is what a reader of `gsimc tail` has: the ids of events by user and revision.
type lake map[string]map[uint64]string

// read takes whole lines.
func (l lake) read(t *testing.T, lines string) {
	t.Helper()
	for line := range strings.Lines(lines) {
		if !strings.HasSuffix(line, "\n") {
			return // of a kill
		}
		var row struct {
			User     string `json:"user_id"`
			ID       string `json:"event_id"`
			Erased   bool
			Revision uint64
		}
		decode(t, line, &row)
		switch {
		case row.Erased:
			delete(l, row.User)
			continue
		case l[row.User] == nil:
			l[row.User] = map[uint64]string{}
		}
		if before, ok := l[row.User][row.Revision]; ok && before != row.ID {
			t.Errorf("user %s: revision %d is %s, and was %s without an erasure between",
				row.User, row.Revision, row.ID, before)
		}
		l[row.User][row.Revision] = row.ID
	}
}

// Whatever is killed while users come, send, take back and are erased, the lines that `gsimc tail`
// has written hold in the end what the server holds.
func TestTail(t *testing.T) {
	t.Parallel()
	_, model := smallModel(t)
	dir, cursor := filepath.Join(t.TempDir(), "state"), filepath.Join(t.TempDir(), "cursor")
	random, got := rand.New(rand.NewPCG(1, 1)), lake{}
	user := func() string { return fmt.Sprint("u", random.IntN(12)) }
	for round := range 6 {
		server := startServe(t, model, dir)
		tail := gsimc(t, "tail", "--server", server.GRPC, "--cursor", cursor, "--every", "1ms")
		conn := server.client(t)
		for i := range 60 {
			check.Must(t, change(t.Context(), conn, random.IntN(9), user(), user(),
				fmt.Sprint(round, "-", i)))
		}
		await(t, "lines of this round", func() bool { return tail.Out.String() != "" })
		if round%3 == 2 {
			tail.Stop(t)
		} else {
			tail.Kill()
		}
		got.read(t, tail.Out.String())
		check.Must(t, server.Kill())
	}
	server := startServe(t, model, dir)
	once := []string{"tail", "--server", server.GRPC, "--every", "0"}
	got.read(t, execute(t, append(once, "--cursor", cursor)...))
	check.Same(t, "", execute(t, append(once, "--cursor", cursor)...), "a pass without changes")
	want := lake{}
	want.read(t, execute(t, once...))
	check.Same(t, want, got, "the histories")
	other := startServe(t, model, filepath.Join(t.TempDir(), "other")).GRPC
	refused(t, 1, "--cursor: "+cursor+" server "+other+": FailedPrecondition: the token is of a "+
		"server with another store", "tail", "--server", other, "--cursor", cursor, "--every", "0")
}

// change does something to users, of which what says what.
func change(
	c context.Context, conn grpc.ClientConnInterface, what int, user, other, id string,
) error {
	users := pb.NewUserServiceClient(conn)
	var err error
	switch what {
	case 0:
		_, err = users.DeleteUser(c, &pb.DeleteUserRequest{UserId: user, AllowMissing: true})
	case 1:
		_, err = users.RetractEvents(c, &pb.RetractEventsRequest{UserId: user,
			ItemIds: []string{"i1"}})
	case 2:
		if user != other {
			_, err = users.MergeUsers(c, &pb.MergeUsersRequest{SourceUserId: user,
				TargetUserId: other})
		}
	default:
		_, err = pb.NewEventServiceClient(conn).BatchObserve(c,
			&pb.BatchObserveRequest{Events: []*pb.Event{
				{UserId: user, ItemId: "i1", EventId: id + "a"},
				{UserId: user, ItemId: "i2", EventId: id + "b"}}})
	}
	return err
}
