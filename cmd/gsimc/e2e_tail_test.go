package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
)

// lake is what a reader of `gsimc tail` has: the ids of events by user and revision.
type lake map[string]map[uint64]string

// read takes lines.
func (l lake) read(t *testing.T, lines string) {
	t.Helper()
	for line := range strings.Lines(lines) {
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

// The program and the server are killed while users send, take back, merge and are erased. In the
// end the lines of the file hold what the server holds.
func TestTail(t *testing.T) {
	t.Parallel()
	_, model := smallModel(t)
	dir, out := filepath.Join(t.TempDir(), "state"), filepath.Join(t.TempDir(), "lines")
	random := rand.New(rand.NewPCG(1, 1))
	user := func() string { return fmt.Sprint("u", random.IntN(12)) }
	for round := range 6 {
		server := startServe(t, model, dir)
		before := len(fileOf(t, out))
		tail := gsimc(t, "tail", "--server", server.GRPC, "--out", out, "--every", "1ms")
		conn := server.client(t)
		for i := range 60 {
			check.Must(t, change(t.Context(), conn, random.IntN(9), user(), user(),
				fmt.Sprint(round, "-", i)))
		}
		await(t, "lines of this round", func() bool { return len(fileOf(t, out)) > before })
		if round%3 == 2 {
			tail.Stop(t)
		} else {
			tail.Kill()
			half := fileOf(t, out) + `{"user_id":"u1","erased":t` // as a kill or a full disk may
			check.Must(t, os.WriteFile(out, []byte(half), 0o600))
		}
		check.Must(t, server.Kill())
	}
	server := startServe(t, model, dir)
	once := []string{"tail", "--server", server.GRPC, "--every", "0"}
	execute(t, append(once, "--out", out)...)
	got, want := lake{}, lake{}
	got.read(t, fileOf(t, out))
	want.read(t, execute(t, once...))
	check.Same(t, want, got, "the histories")
	size := len(fileOf(t, out))
	execute(t, append(once, "--out", out)...)
	check.Same(t, size, len(fileOf(t, out)), "after a pass without changes the size")
	other := startServe(t, model, filepath.Join(t.TempDir(), "other")).GRPC
	refused(t, 1, "--out: "+out+".cursor: server "+other+": FailedPrecondition: the token is of a "+
		"server with another store", "tail", "--server", other, "--out", out, "--every", "0")
	const table = "user,item\nann,7"
	check.Must(t, os.WriteFile(out, []byte(table), 0o600))
	refused(t, 1, "--out: "+out+": its end is not half a line", append(once, "--out", out)...)
	check.Must(t, os.Remove(out+".cursor"))
	refused(t, 1, "--out: "+out+" has lines, and "+out+".cursor is not there, so users who were "+
		"erased meanwhile would stay: bring it back, empty the file if it is an old copy, or "+
		"choose another name",
		append(once, "--out", out)...)
	check.Same(t, table, fileOf(t, out), "the refused file")
}

// fileOf returns the content of a file, and nothing if it is not there.
func fileOf(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
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
