package nettest

import (
	"fmt"
	"hash/fnv"
	"net"
	"os"
	"runtime"
	"testing"

	"google.golang.org/grpc"

	"github.com/gsimc/gsimc/internal/test/check"
)

// Loopback returns an address for --listen that only this test uses. It is for servers that end
// while clients know their address: a port of 127.0.0.1 may come to a server of another test then,
// which takes the calls. On Linux the loopback interface has all of 127.0.0.0/8, elsewhere one
// address.
func Loopback(tb testing.TB) string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1:0"
	}
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, os.Getpid(), tb.Name())
	n := h.Sum32()
	return fmt.Sprintf("127.%d.%d.%d:0", 1+n%254, n>>8%256, 1+n>>16%254)
}

// Free returns an address on which nothing listens.
func Free(tb testing.TB) string {
	tb.Helper()
	listener := check.Get(net.Listen("tcp", Loopback(tb)))(tb)
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// Serve serves what register adds to a server of gRPC until the end of the test, and returns its
// address and what stops it before.
func Serve(
	tb testing.TB, register func(*grpc.Server), options ...grpc.ServerOption,
) (address string, stop func()) {
	tb.Helper()
	listener := check.Get(net.Listen("tcp", Loopback(tb)))(tb)
	g := grpc.NewServer(options...)
	register(g)
	go func() { _ = g.Serve(listener) }()
	tb.Cleanup(g.Stop)
	return listener.Addr().String(), g.Stop
}
