package engine

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/store"
)

// lackOfSpace reports whether an error says that a file cannot grow: a full disk, a quota, a limit
// of the size of files. It is over when there is room.
func lackOfSpace(err error) bool {
	return vfs.IsNoSpaceError(err) || errors.Is(err, syscall.EDQUOT) ||
		errors.Is(err, syscall.EFBIG)
}

// lackOfFiles reports whether an error says that too many files are open, in this process or in
// all. It is over when others are closed.
func lackOfFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// shortage words an error that passes by itself, or returns "".
func shortage(err error) string {
	switch {
	case vfs.IsNoSpaceError(err):
		return "the disk is full"
	case errors.Is(err, syscall.EDQUOT):
		return "the disk quota is used up"
	case errors.Is(err, syscall.EFBIG):
		return "the limit of the size of files is reached (ulimit -f)"
	case lackOfFiles(err):
		return "too many files are open (ulimit -n)"
	}
	return ""
}

// passInterval is how long an operation waits before it is tried again.
const passInterval = 100 * time.Millisecond

// untilPossible calls an operation on a vital file until nothing is short that it needs: the engine
// would take the failure for final. The operation is to have done nothing when it fails so, or to
// go on where it stopped. The engine is stuck meanwhile. While it is opened or closed it does not
// wait.
func (e *Engine) untilPossible(op func() error) error {
	waits := false
	for {
		err := op()
		what := shortage(err)
		if what == "" || e.life.opening.Load() || e.life.ending.Load() || e.life.abandoned.Load() ||
			e.Err() != nil {
			return err
		}
		if !waits {
			waits = true
			e.stuck.begin(what)
			defer e.stuck.end()
		}
		time.Sleep(passInterval)
	}
}

// stuck are the operations that wait until they are possible.
type stuck struct {
	mu   sync.Mutex
	n    int
	what string        // is short
	ch   chan struct{} // closed while there are any; nil: nobody has asked for it
}

func (s *stuck) begin(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.what = what
	if s.n++; s.n == 1 {
		close(s.channel())
	}
}

func (s *stuck) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n--; s.n == 0 {
		s.ch = nil
	}
}

func (s *stuck) channel() chan struct{} {
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

// Stuck returns a channel that is closed while the engine waits for space or file descriptors,
// which the log, the list of tables or a folder lacks. What has been given to the engine is written
// when there are some, and lost if the process ends before.
func (e *Engine) Stuck() <-chan struct{} {
	e.stuck.mu.Lock()
	defer e.stuck.mu.Unlock()
	return e.stuck.channel()
}

// StuckRefusal says why the engine is stuck, or is nil. It wraps [store.ErrFull].
func (e *Engine) StuckRefusal() error {
	e.stuck.mu.Lock()
	defer e.stuck.mu.Unlock()
	if e.stuck.n == 0 {
		return nil
	}
	return fmt.Errorf("%w: a file of the store could not be written: %s; writes go on by "+
		"themselves when there is room", store.ErrFull, e.stuck.what)
}

// ErrStuck is the error of a write while the engine is stuck. It leaves the outcome open, as the
// same write may be under way.
var ErrStuck = fmt.Errorf("%w: writes that are under way wait for room on the disk",
	store.ErrUnavailable)
