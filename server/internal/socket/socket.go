// Package socket opens the listeners of a server, on ports and on sockets in the file system.
package socket

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
)

// UnixPrefix begins the address of a socket in the file system: "unix:/run/gsimc/admin.sock".
const UnixPrefix = "unix:"

// Listen listens on HOST:PORT or on a socket in the file system, for whose owner only it is.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	path, unix := strings.CutPrefix(address, UnixPrefix)
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

// Address is the address of a listener in the form of the configuration.
func Address(l net.Listener) string {
	if l.Addr().Network() == "unix" {
		return UnixPrefix + l.Addr().String()
	}
	return l.Addr().String()
}
