package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
)

// TestServeOnFullDisk starts a server whose disk is full: it recommends, refuses events, says so,
// and takes them when there is room.
func TestServeOnFullDisk(t *testing.T) {
	_, model := smallModel(t)
	disk := smallDisk(t, 600<<20)
	dir, filler := filepath.Join(disk, "state"), filepath.Join(disk, "filler")
	server := startServe(t, model, dir)
	observe := func(id string) []string {
		return []string{"observe", "--server", server.GRPC, "--user", "u", "--item", "i",
			"--event-id", id}
	}
	mustRun(t, observe("1")...)
	server.mustStop(t)
	fillDisk(t, filler)

	began := time.Now()
	server = startServe(t, model, dir)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the start took %v", took)
	}
	execute(t, "recommend", "--server", server.GRPC, "--user", "u")
	refused(t, cli.ExitFailure, "disk of the store is full", observe("2")...)
	server.awaitLog(t, "takes no events for the time being", 1)
	says(t, "/readyz", server.page(t, "/readyz"), "disk full")
	check.Must(t, os.Remove(filler))
	await(t, "an event is taken", func() bool {
		code, _, _ := runCLI(t, nil, observe("3")...)
		return code == cli.ExitOK
	})
	server.awaitLog(t, "takes events again", 1)
	server.mustStop(t)
}

// The output of `gsimc tail` has whole lines when its disk is full, and goes on when it is not.
func TestTailOnFullDisk(t *testing.T) {
	t.Parallel()
	_, model := smallModel(t)
	server := startServe(t, model, filepath.Join(t.TempDir(), "state"))
	disk := smallDisk(t, 1<<20)
	out, filler := filepath.Join(disk, "lines"), filepath.Join(disk, "filler")
	tail := []string{"tail", "--server", server.GRPC, "--every", "0", "--out", out}
	execute(t, tail...)
	conn := server.client(t)
	for i := range 400 { // more than a page
		check.Must(t, change(t.Context(), conn, 9, "u", "", fmt.Sprint(i)))
	}
	fillDisk(t, filler)
	check.Must(t, os.Truncate(filler, check.Get(os.Stat(filler))(t).Size()-4096))
	refused(t, cli.ExitFailure, "--out: write "+out+": no space left on device", tail...)
	if text := fileOf(t, out); text != "" && !strings.HasSuffix(text, "\n") {
		t.Errorf("the file ends with %q", text[len(text)-40:])
	}
	check.Must(t, os.Remove(filler))
	execute(t, tail...)
	got, want := lake{}, lake{}
	got.read(t, fileOf(t, out))
	want.read(t, execute(t, tail[:len(tail)-2]...))
	check.Same(t, want, got, "the histories")
}

// smallDisk returns a folder on a disk of this size.
func smallDisk(t *testing.T, bytes int) string {
	t.Helper()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, fmt.Sprint("size=", bytes)); err != nil {
		t.Skipf("needs the right to mount a small disk: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	return disk
}

// fillDisk writes a file until its disk is full.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	f := check.Get(os.Create(path))(t)
	defer f.Close()
	var err error
	for piece := make([]byte, 1<<20); err == nil; {
		_, err = f.Write(piece)
	}
}

// TestLogBeyondTheLimit lets the log of a running server reach the limit of the size of files. It
// recommends, refuses events, and takes them when the limit is raised, without a restart; after one
// all of them are there.
func TestLogBeyondTheLimit(t *testing.T) {
	_, model := smallModel(t)
	dir := t.TempDir()
	server := startServe(t, model, dir)
	events := pb.NewEventServiceClient(server.client(t))
	observe := func(id string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := events.Observe(ctx, &pb.ObserveRequest{Event: &pb.Event{EventId: id,
			UserId: "u", ItemId: "i"}})
		return err
	}
	limit := func(bytes uint64) {
		t.Helper()
		check.Must(t, unix.Prlimit(server.PID(), unix.RLIMIT_FSIZE,
			&unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}, nil))
	}
	limit(unix.RLIM_INFINITY)
	check.Must(t, observe("1"))
	limit(1)
	for _, id := range []string{"2", "2", "3"} {
		check.Same(t, codes.Unavailable, status.Code(observe(id)), "event %s beyond the limit", id)
	}
	execute(t, "recommend", "--server", server.GRPC, "--user", "u")
	server.page(t, "/livez")
	says(t, "/readyz", server.page(t, "/readyz"), "ulimit -f")
	limit(unix.RLIM_INFINITY)
	await(t, "an event is taken beyond the old limit", func() bool { return observe("3") == nil })
	server.mustStop(t)
	server = startServe(t, model, dir)
	user, err := pb.NewUserServiceClient(server.client(t)).GetUser(t.Context(),
		&pb.GetUserRequest{UserId: "u"})
	if err != nil || user.GetUser().GetRevision() != 3 {
		t.Errorf("after a restart: %v, %v, want 3 events", user, err)
	}
	server.mustStop(t)
}
