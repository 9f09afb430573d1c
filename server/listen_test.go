package server

import (
	"context"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/socket"
	"github.com/gsimc/gsimc/store/memory"
)

// Each listener has its own services and no others: what is for operators cannot be reached by the
// door of the clients.
func TestListenersServeTheirOwn(t *testing.T) {
	ts := start(t, setup{})
	services := func(names ...string) []string { return names }
	for door, want := range map[string][]string{
		"clients": services("grpc.health.v1.Health", "gsimc.v1.EventService",
			"gsimc.v1.ItemService", "gsimc.v1.RecommenderService", "gsimc.v1.UserService"),
		"operators": services("grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
			"grpc.reflection.v1alpha.ServerReflection", "gsimc.v1.AdminService"),
	} {
		g := ts.grpc
		if door == "operators" {
			g = ts.adminGRPC
		}
		var got []string
		for name := range g.GetServiceInfo() {
			got = append(got, name)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("the listener of %s serves %v, want %v", door, got, want)
		}
	}
	if _, err := pb.NewAdminServiceClient(ts.conn).GetStatus(ctx(t),
		&pb.GetStatusRequest{}); problemOf(t, err).Code != codes.Unimplemented {
		t.Errorf("AdminService for clients: %v", err)
	}
	if _, err := pb.NewRecommenderServiceClient(ts.adminConn).Recommend(ctx(t),
		forUser("ann")); problemOf(t, err).Code != codes.Unimplemented {
		t.Errorf("RecommenderService for operators: %v", err)
	}
	stream, err := grpc_reflection_v1.NewServerReflectionClient(ts.conn).ServerReflectionInfo(ctx(t))
	if err == nil {
		_, err = stream.Recv()
	}
	check.Same(t, codes.Unimplemented, problemOf(t, err).Code, "reflection for clients")
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline"} {
		if code, _ := ts.get(t, path); code != http.StatusNotFound {
			t.Errorf("%s without Pprof: %d", path, code)
		}
		resp, err := http.Get("http://" + ts.rpc + path)
		if err == nil {
			resp.Body.Close()
			t.Errorf("%s on the listener of clients: %d", path, resp.StatusCode)
		}
	}
}

// A socket in the file system takes the place of one that a dead server left, but not of a living
// one, and only its owner may open it.
func TestAdminSocket(t *testing.T) {
	cfg := DefaultConfig()
	path := filepath.Join(t.TempDir(), "admin.sock")
	cfg.Listen, cfg.OpsListen, cfg.AdminListen = "127.0.0.1:0", "127.0.0.1:0", socket.UnixPrefix+path
	cfg.DrainDelay = 0
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	must(t, err)
	left.SetUnlinkOnClose(false)
	left.Close()

	s, err := New(cfg, memory.New(), named(t, "paper"))
	must(t, err)
	c, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- s.Run(c) }()
	conn := dial(t, socket.UnixPrefix+path)
	defer conn.Close()
	eventually(t, "the socket answers", func() bool {
		_, err = pb.NewAdminServiceClient(conn).GetStatus(ctx(t), &pb.GetStatusRequest{})
		return err == nil
	})
	mode := check.Get(os.Stat(path))(t).Mode()
	same(t, fs.FileMode(0o600), mode.Perm(), "permissions of the socket")
	_, err = socket.Listen(t.Context(), cfg.AdminListen)
	check.Says(t, err, "in use", "a second server on the socket")
	cancel()
	must(t, <-stopped)
	if _, err := os.Stat(path); err == nil {
		t.Error("the socket is still there")
	}
}

// Nothing but a socket makes room for one: a file of that name stays, and the server says so.
func TestAdminSocketOverAFile(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "model.gsimc"), filepath.Join(dir, "link")
	must(t, os.WriteFile(file, []byte("precious"), 0o600))
	must(t, os.Symlink(file, link))
	for _, path := range []string{file, link} {
		if l, err := socket.Listen(t.Context(), socket.UnixPrefix+path); err == nil {
			l.Close()
			t.Errorf("a socket takes the place of %s", path)
		} else if !strings.Contains(err.Error(), "in use") {
			t.Errorf("over %s: %v", path, err)
		}
	}
	same(t, "precious", string(check.Get(os.ReadFile(link))(t)), "the file")
}
