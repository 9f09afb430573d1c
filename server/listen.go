package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/gsimc/gsimc/internal/fault"
)

// Listeners are the doors of a server.
type Listeners struct {
	GRPC  net.Listener // RecommenderService, EventService, UserService, health
	Admin net.Listener // AdminService, reflection, health
	Ops   net.Listener // HTTP: /metrics, /livez, /readyz
	JSON  net.Listener // HTTP: the services of clients; nil: not served
}

// unixPrefix begins the address of a socket in the file system: "unix:/run/gsimc/admin.sock".
const unixPrefix = "unix:"

// listenAll listens on the addresses of a configuration; after an error, on none.
func listenAll(ctx context.Context, cfg *Config) (l Listeners, err error) {
	var opened []net.Listener
	for _, door := range []struct {
		field, address string
		to             *net.Listener
	}{
		{"Listen", cfg.Listen, &l.GRPC},
		{"AdminListen", cfg.AdminListen, &l.Admin},
		{"OpsListen", cfg.OpsListen, &l.Ops},
		{"JSONListen", cfg.JSONListen, &l.JSON},
	} {
		if door.address == "" { // only JSONListen may be
			continue
		}
		if *door.to, err = listenOn(ctx, door.address); err != nil {
			for _, o := range opened {
				err = errors.Join(err, o.Close())
			}
			return Listeners{}, cannotListen(door.field, err)
		}
		opened = append(opened, *door.to)
	}
	return l, nil
}

// listenOn listens on HOST:PORT or on a socket in the file system, for whose owner only it is.
func listenOn(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	path, unix := strings.CutPrefix(address, unixPrefix)
	if !unix {
		return lc.Listen(ctx, "tcp", address)
	}
	l, err := lc.Listen(ctx, "unix", path)
	if errors.Is(err, syscall.EADDRINUSE) && abandoned(ctx, path) {
		if err = os.Remove(path); err == nil {
			l, err = lc.Listen(ctx, "unix", path)
		}
	}
	if err != nil {
		return nil, err
	}
	// With the usual umask others cannot connect even before this.
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// abandoned reports whether there is a socket that was left by a process that has died. Whatever
// else has its name refuses connections too, and is not ours to remove.
func abandoned(ctx context.Context, path string) bool {
	if info, err := os.Lstat(path); err != nil || info.Mode().Type() != os.ModeSocket {
		return false
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close() // it was only to find out
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// addressOf is the address of a listener in the form of the configuration.
func addressOf(l net.Listener) string {
	if l.Addr().Network() == "unix" {
		return unixPrefix + l.Addr().String()
	}
	return l.Addr().String()
}

// cannotListen returns the fault of a configuration field with an address on which the server
// cannot listen.
func cannotListen(field string, err error) error {
	return &fault.Fault{Field: field,
		Err: fmt.Errorf("%w; give another address, or port 0 for any", err)}
}
