package client

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A Reason is the kind of a failure.
type Reason int

// The reasons.
const (
	Unreachable Reason = iota + 1 // there is no connection
	NoAnswer                      // there may be a connection, but no answer came in time
	Refused                       // the server answered with an error
	Repeated                      // as Refused, to attempts that went on until the time was over
)

// An Error says why a call failed.
type Error struct {
	Reason  Reason
	Address string        // of the server
	Code    codes.Code    // of the status, for Repeated of the last answer
	Timeout time.Duration // of NoAnswer and Repeated: that of the options; 0: unknown
	Answers int           // of Repeated: their number
	// Cause is, for Unreachable, a text such as "connection refused", and for Refused and Repeated
	// the server's message.
	Cause string
	Err   error // as gRPC returned it
}

// Error returns one sentence.
func (e *Error) Error() string {
	switch e.Reason {
	case Unreachable:
		return fmt.Sprintf("cannot connect to %s (%s)", e.Address, e.Cause)
	case NoAnswer:
		if e.Timeout == 0 {
			return fmt.Sprintf("no answer from %s in time", e.Address)
		}
		return fmt.Sprintf("no answer from %s within %s", e.Address, e.Timeout)
	case Repeated:
		times, within := "once", ""
		if e.Answers > 1 {
			times = fmt.Sprintf("%d times", e.Answers)
		}
		if e.Timeout > 0 {
			within = fmt.Sprintf("within %s ", e.Timeout)
		}
		return fmt.Sprintf("%sserver %s answered %s: %s: %s", within, e.Address, times, e.Code,
			e.Cause)
	}
	return fmt.Sprintf("server %s: %s: %s", e.Address, e.Code, e.Cause)
}

// Unwrap returns the error of gRPC.
func (e *Error) Unwrap() error { return e.Err }

// Explain returns an *[Error] for the error of a call of this client, however gRPC wrapped it.
// Other errors, and errors that were explained before, are returned as they are.
func (c *Client) Explain(err error) error {
	var failed interface{ GRPCStatus() *status.Status }
	if err == nil || errors.As(err, new(*Error)) || !errors.As(err, &failed) {
		return err
	}
	s := failed.GRPCStatus()
	e := &Error{Reason: Refused, Address: c.opt.Address, Code: s.Code(), Cause: s.Message(),
		Err: err}
	dialError, _ := c.dialing()
	switch before := new(unansweredError); {
	case errors.As(err, &before):
		e.Reason, e.Timeout, e.Answers = Repeated, c.opt.Timeout, before.n
		e.Code, e.Cause = before.last.Code(), before.last.Message()
	case answered(s):
	case dialError != nil && (s.Code() == codes.Unavailable || s.Code() == codes.DeadlineExceeded):
		e.Reason, e.Cause = Unreachable, dialCause(dialError)
	case s.Code() == codes.DeadlineExceeded:
		e.Reason, e.Timeout = NoAnswer, c.opt.Timeout
	}
	return e
}

// dialCause says in a few words why a connection could not be made.
func dialCause(err error) string {
	errno := syscall.Errno(0)
	switch {
	case errors.As(err, new(*net.DNSError)):
		return "unknown host"
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "timed out"
	}
	return err.Error()
}
