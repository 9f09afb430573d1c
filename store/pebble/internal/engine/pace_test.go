package engine

import (
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestPaceEnds lets tables wait to be merged on a full disk: who waits for that can be told to end.
func TestPaceEnds(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && strings.HasSuffix(op.Path, ".sst") &&
			op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return syscall.ENOSPC
		}
		return nil
	}))
	e := mustOpen(t, "dir", testOptions(fs))
	e.damage.known.Store(true) // so that nothing is merged
	for range maxSublevels {
		set(t, e.DB, 0)
	}
	full.Store(true)
	e.damage.known.Store(false)
	done, returned := make(chan struct{}), make(chan struct{})
	go func() {
		e.Pace(done)
		close(returned)
	}()
	select {
	case <-returned:
		t.Error("Pace has not waited")
	case <-time.After(50 * time.Millisecond):
	}
	close(done)
	select {
	case <-returned:
	case <-time.After(10 * time.Second):
		t.Error("Pace has not returned after 10 s")
	}
	mustClose(t, e)
}
