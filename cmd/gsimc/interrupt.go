package main

import (
	"context"
	"errors"
	"io"
	"os/signal"
	"syscall"
)

var errInterrupted = errors.New("interrupted")

// interruptContext returns a context that ends at SIGINT or SIGTERM, which then do not end the process.
func interruptContext() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
}

// outFile is a file that gets its name when it is complete.
type outFile interface {
	io.Writer
	Close() error // completes it
	Abort() error // removes it
}

// complete has write fill out and completes it. If write fails or ctx ends before, out is removed.
func complete(ctx context.Context, out outFile, write func(io.Writer) error) error {
	err := write(interruptible{ctx, out})
	if err == nil && ctx.Err() != nil {
		err = errInterrupted
	}
	if err != nil {
		return errors.Join(err, out.Abort())
	}
	return out.Close()
}

// interruptible is a writer that fails once ctx has ended.
type interruptible struct {
	ctx context.Context
	out io.Writer
}

// interruptStep is how much is written between two looks at the context: a basis comes in one piece of up to some GiB.
const interruptStep = 1 << 20

// Write implements [io.Writer].
func (w interruptible) Write(p []byte) (n int, err error) {
	for {
		if w.ctx.Err() != nil {
			return n, errInterrupted
		}
		step := min(len(p)-n, interruptStep)
		written, err := w.out.Write(p[n : n+step])
		n += written
		if err != nil || n == len(p) {
			return n, err
		}
	}
}
