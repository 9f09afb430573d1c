package nettest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// A Host is a network namespace with one address. Its methods may be called by any goroutine.
type Host struct {
	number int
	space  *os.File // the namespace
	tun    *os.File // what it sends and receives
}

// own is the namespace of a thread.
const own = "/proc/thread-self/ns/net"

// newHost makes a host in a thread that ends with it.
func newHost(number int) (*Host, error) {
	h := &Host{number: number}
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread is in the host
		made <- h.make()
	}()
	if err := <-made; err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

// make moves its thread to a new namespace and gives that an address.
func (h *Host) make() (err error) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("make a network namespace: %w", err)
	}
	if h.space, err = os.Open(own); err != nil {
		return err
	}
	const device = "/dev/net/tun"
	// Without blocking, so that a read ends when the file is closed.
	tun, err := unix.Open(device, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", device, err)
	}
	settings, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return errors.Join(err, unix.Close(tun))
	}
	defer func() { _ = unix.Close(settings) }()
	set := func(fd int, request uint, interfaceName string, to func(*unix.Ifreq) error) {
		if err != nil {
			return
		}
		r, e := unix.NewIfreq(interfaceName)
		if e == nil {
			e = to(r)
		}
		if e == nil {
			e = unix.IoctlIfreq(fd, request, r)
		}
		if e != nil {
			err = fmt.Errorf("set up %s: %w", interfaceName, e)
		}
	}
	number := func(n uint16) func(*unix.Ifreq) error {
		return func(r *unix.Ifreq) error { r.SetUint16(n); return nil }
	}
	ip := func(a net.IP) func(*unix.Ifreq) error {
		return func(r *unix.Ifreq) error { return r.SetInet4Addr(a.To4()) }
	}
	set(settings, unix.SIOCSIFFLAGS, "lo", number(unix.IFF_UP))
	set(settings, unix.SIOCSIFNETMASK, "lo", ip(net.IPv4bcast)) // its own addresses alone
	set(tun, unix.TUNSETIFF, "wire", number(unix.IFF_TUN|unix.IFF_NO_PI))
	if err == nil {
		err = os.WriteFile("/proc/sys/net/ipv4/conf/wire/route_localnet", []byte("1"), 0)
	}
	set(settings, unix.SIOCSIFADDR, "wire", ip(net.ParseIP(h.Addr())))
	set(settings, unix.SIOCSIFNETMASK, "wire", ip(net.IPv4(255, 255, 255, 0)))
	set(settings, unix.SIOCSIFFLAGS, "wire", number(unix.IFF_UP))
	if err != nil {
		return errors.Join(err, unix.Close(tun))
	}
	h.tun = os.NewFile(uintptr(tun), device)
	return nil
}

func (h *Host) close() {
	for _, f := range []*os.File{h.tun, h.space} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// Addr returns the address of the host, without a port.
func (h *Host) Addr() string { return address(h.number) }

// Do calls f in the host: sockets that it makes and processes that it starts belong to the host,
// those of other goroutines do not. f runs in the thread of the caller.
func (h *Host) Do(f func() error) (err error) {
	runtime.LockOSThread()
	home, err := os.Open(own)
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer func() { _ = home.Close() }()
	if err := unix.Setns(int(h.space.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("enter a network namespace: %w", err)
	}
	defer func() {
		if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back != nil {
			err = errors.Join(err, back) // the thread ends with its goroutine
			return
		}
		runtime.UnlockOSThread()
	}()
	return f()
}

// Dial connects from the host to an address of it or of another one.
func (h *Host) Dial(ctx context.Context, network, addr string) (c net.Conn, err error) {
	err = h.Do(func() error {
		c, err = new(net.Dialer).DialContext(ctx, network, addr)
		return err
	})
	return c, err
}
