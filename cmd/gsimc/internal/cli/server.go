package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gsimc/gsimc/client"
	"github.com/gsimc/gsimc/internal/fault"
)

// AccessFlags say how a command that calls a server is protected, and who it is.
type AccessFlags = client.AccessFlags

// ServerFlags say which server to talk to.
type ServerFlags struct {
	Server  string        `group:"Server:" default:"127.0.0.1:${port=50051}" placeholder:"HOST:PORT" help:"gRPC address of the server. Default: 127.0.0.1:${port=50051}."`
	Timeout time.Duration `group:"Server:" default:"5s" help:"Time for one call, retries included."`

	AccessFlags

	flag string // which names Server; empty: --server
}

// At returns the flags for another server, whose address another flag names.
func (f ServerFlags) At(address, flag string) ServerFlags {
	f.Server, f.flag = address, flag
	return f
}

// Check checks the flags.
func (f *ServerFlags) Check() error { return Positive("--timeout", f.Timeout) }

// Dial returns a client of the server.
func (f *ServerFlags) Dial() (*client.Client, error) {
	access, err := f.Access()
	if err != nil {
		return nil, err
	}
	c, err := client.Dial(client.Options{Address: f.Server, Access: access, Timeout: f.Timeout})
	if bad := new(fault.Fault); errors.As(err, &bad) {
		if bad.Field == "Address" {
			bad.Field, err = f.Flag(), Usage(err)
		}
		return nil, err
	}
	return c, Flag(f.Flag(), err)
}

// Flag is the flag that names the server.
func (f *ServerFlags) Flag() string { return cmp.Or(f.flag, "--server") }

// Call runs fn with a connection and the deadline of --timeout, and explains its error.
func (f *ServerFlags) Call(fn func(context.Context, grpc.ClientConnInterface) error) (err error) {
	c, err := f.Dial()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	interrupt, stop := InterruptContext()
	defer stop()
	ctx, cancel := context.WithTimeout(interrupt, f.Timeout)
	defer cancel()
	err = fn(ctx, c.Conn())
	if err != nil && interrupt.Err() != nil {
		return Interrupted("the call was given up; the same command repeats it")
	}
	return advise(c.Explain(err), f.Flag())
}

// Advise adds to the error of a call what to do about it: which flags to look at.
func Advise(err error) error { return advise(err, "--server") }

// AdviseAfter is [Advise] after calls that went well: an address that answered is right. kept says
// what is left of them, and how to go on.
func AdviseAfter(err error, kept string) error {
	e := new(client.Error)
	if !errors.As(err, &e) || e.Reason == client.Repeated || e.Code != codes.Unavailable &&
		e.Code != codes.DeadlineExceeded || len(status.Convert(e.Err).Details()) > 0 {
		return Advise(err)
	}
	return fmt.Errorf("%w: the connection was lost; %s", err, kept)
}

// advise is Advise for the server that this flag names.
func advise(err error, server string) error {
	e := new(client.Error)
	switch {
	case !errors.As(err, &e), e.Reason == client.Repeated: // the server said what there is to say
		return err
	case e.Reason == client.Unreachable:
		return Advised(err, "is the server running there? see %s, and %s for its certificate",
			server, "--tls-ca")
	case e.Reason == client.NoAnswer:
		return Advised(err, "is the server running there? see %s and %s", server, "--timeout")
	case e.Code == codes.Unauthenticated, e.Code == codes.PermissionDenied:
		return Advised(err, "see %s", "--client-token-file")
	case e.Code == codes.Unavailable && len(status.Convert(e.Err).Details()) == 0:
		// not from the server itself, which gives a reason
		return Advised(err, "is %s a gRPC address of serve? if it wants TLS, see %s and %s",
			server, "--tls-ca", "--client-cert")
	case e.Code == codes.Unimplemented:
		return Advised(err, "is %s the address of the right listener? serve has --listen for "+
			"clients and --admin-listen for operators", server)
	}
	return err
}

// Advised adds advice about flags to an error.
func Advised(err error, format string, flags ...string) error {
	advice := About(format, flags...).(*about) //nolint:errorlint // made here
	return &about{text: fmt.Sprintf("%v: %s", err, advice.text), flags: flags, err: err}
}
