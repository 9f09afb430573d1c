package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/term"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
)

// InterruptContext returns a context that ends at the first SIGINT or SIGTERM. That signal does not
// end the process; the second one does, at once, as a terminal is told.
func InterruptContext() (context.Context, context.CancelFunc) {
	return UntilSignal(func(os.Signal) { tellAgain() }, func() {})
}

// UntilSignal is [InterruptContext] for a command that tells by itself of the first signal, and of
// the second one before it ends the process.
func UntilSignal(first func(os.Signal), second func()) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			first(s)
			cancel()
		case <-ctx.Done():
			return
		}
		<-signals
		second()
		temporary.Lock() // for ever, as a command that runs others has several such goroutines
		_ = os.RemoveAll(temporary.dir)
		os.Exit(ExitInterrupted)
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel()
	}
}

// temporary is the folder of [WorkDir]; empty: there is none.
var temporary struct {
	sync.Mutex
	dir string
}

// WorkDir makes the folder of --dir, or a temporary one if there is none. remove removes a
// temporary one, as a second signal does before it ends the process.
func WorkDir(dir, pattern string) (_ string, remove func() error, err error) {
	if dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", nil, Flag("--dir", PathError(err))
		}
		return dir, func() error { return nil }, nil
	}
	temporary.Lock()
	defer temporary.Unlock()
	if dir, err = os.MkdirTemp("", pattern); err != nil {
		return "", nil, err
	}
	temporary.dir = dir
	return dir, func() error {
		temporary.Lock()
		defer temporary.Unlock()
		temporary.dir = ""
		return os.RemoveAll(dir)
	}, nil
}

// tellAgain tells a user at a terminal how to end a command that takes long to stop. A command that
// runs others has several contexts of one signal, which tell it once.
var tellAgain = sync.OnceFunc(func() {
	if term.IsTerminal(int(os.Stderr.Fd())) {
		fmt.Fprintln(os.Stderr, "\ngsimc: stopping; interrupt again to exit at once")
	}
})

// WasInterrupted reports whether an interrupt has come. It is asked after another command of this
// program has run in this process and returned code. Both commands get the signal, in any order: if
// the other one was interrupted, ctx ends in a moment.
func WasInterrupted(ctx context.Context, code int) bool {
	if code == ExitInterrupted {
		<-ctx.Done()
	}
	return ctx.Err() != nil
}

// OutFile is a file that gets its name when it is complete.
type OutFile interface {
	io.Writer
	Close() error // completes the file
	Abort() error // removes the file
}

// Complete has write fill out and completes it. If write fails, or if ctx ends before, out is
// removed; the error of an ended ctx is [ErrInterrupted].
func Complete(ctx context.Context, out OutFile, write func(io.Writer) error) error {
	err := write(interruptible{ctx, out})
	if err == nil && ctx.Err() != nil {
		err = ErrInterrupted
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

// interruptStep is the number of bytes between two looks at the context: a basis of some GiB comes
// in one piece.
const interruptStep = 1 << 20

// Write implements [io.Writer].
func (w interruptible) Write(p []byte) (n int, err error) {
	for {
		if w.ctx.Err() != nil {
			return n, ErrInterrupted
		}
		step := min(len(p)-n, interruptStep)
		written, err := w.out.Write(p[n : n+step])
		n += written
		if err != nil || n == len(p) {
			return n, err
		}
	}
}

// UntilInterrupted runs work that knows no context. At an interrupt it returns at once, with an
// error that says what was kept; the work goes on until the process ends, which is next.
func UntilInterrupted(p progress.Progress, kept string, work func() error) error {
	ctx, stop := InterruptContext()
	defer stop()
	done := make(chan error, 1)
	go func() { done <- work() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		p.End()
		return Interrupted("%s", kept)
	}
}
