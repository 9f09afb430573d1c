// Command gsimc-mcp lets agents ask a gsimc server, by tools of the Model Context Protocol: over
// its standard input and output, or over HTTP. No tool changes anything.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"time"

	"github.com/alecthomas/kong"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/net/netutil"

	"github.com/gsimc/gsimc/client"
	"github.com/gsimc/gsimc/client/internal/program"
	"github.com/gsimc/gsimc/internal/fault"
)

// version is set by the linker: -X main.version=$(git describe).
var version = ""

// flags are the command line. Each has a twin in the environment: --http-listen is
// GSIMC_HTTP_LISTEN.
type flags struct {
	HTTPListen string        `name:"http-listen" placeholder:"HOST:PORT" help:"Serve HTTP at this loopback address, in place of standard input and output."`
	Server     string        `default:"127.0.0.1:50051" placeholder:"HOST:PORT" help:"gRPC address of the server. Default: 127.0.0.1:50051."`
	Timeout    time.Duration `default:"10s" help:"Time after which a call to the server fails."`
	client.AccessFlags

	Version kong.VersionFlag `env:"-" help:"Print the version."`
}

func main() {
	program.Main(func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
		return run(ctx, args, overLines(os.Stdin, stdout), stdout, stderr)
	})
}

// run is main without the process around it.
func run(ctx context.Context, args []string, stdio mcp.Transport, stdout, stderr io.Writer) int {
	var f flags
	p := program.Program{Name: "gsimc-mcp", Version: version, FlagOf: client.FlagOf,
		Description: "Let agents ask a gsimc server, by tools that change nothing.",
		Options:     []kong.Option{kong.DefaultEnvars("GSIMC")}}
	return p.Run(args, &f, stdout, stderr, func(string) error {
		err := f.serve(ctx, stdio, stderr)
		if ctx.Err() != nil { // as it ends
			return nil
		}
		return err
	})
}

// serve answers until ctx or the standard input ends.
func (f *flags) serve(ctx context.Context, stdio mcp.Transport, stderr io.Writer) error {
	access, err := f.AccessFlags.Access()
	if err != nil {
		return err
	}
	server, err := client.Dial(client.Options{Address: f.Server, Access: access,
		Timeout: f.Timeout})
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	tools := newTools(server).newServer()
	if f.Timeout <= 0 {
		return fault.New("Timeout", f.Timeout, "more than 0s")
	}
	if f.HTTPListen == "" {
		return tools.Run(ctx, stdio)
	}
	// Whoever reaches the listener asks with the token of this program.
	at, err := netip.ParseAddrPort(f.HTTPListen)
	if err != nil || !at.Addr().IsLoopback() {
		return fault.New("HTTPListen", f.HTTPListen, "a loopback address such as 127.0.0.1:8090; "+
			"others need a proxy that knows them")
	}
	listener, err := net.Listen("tcp", f.HTTPListen)
	if err != nil {
		return &fault.Fault{Field: "HTTPListen", Err: err}
	}
	fmt.Fprintf(stderr, "gsimc-mcp: serving http://%s\n", listener.Addr())
	return serveHTTP(ctx, listener, tools)
}

// mostConnections bounds what clients that wait, or that do not go on, can hold.
const mostConnections = 256

// serveHTTP answers without sessions, so that any of several programs can answer a request. Pages
// of other origins, and names that were bound to this machine, are refused.
func serveHTTP(ctx context.Context, listener net.Listener, tools *mcp.Server) error {
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tools },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	server := &http.Server{Handler: http.NewCrossOriginProtection().Handler(handler),
		ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 1 << 16}
	drained := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(drained)
		limit, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if server.Shutdown(limit) != nil {
			_ = server.Close()
		}
	})
	listener = netutil.LimitListener(listener, mostConnections)
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		stop()
		return err
	}
	<-drained
	return nil
}
