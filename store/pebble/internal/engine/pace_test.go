package engine

import (
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/gsimc/gsimc/internal/test/check"
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
	began, done := time.Now(), make(chan struct{})
	time.AfterFunc(50*time.Millisecond, func() { close(done) })
	check.Must(t, check.Return(t, "Pace", func() error { e.Pace(done); return nil }))
	if time.Since(began) < 50*time.Millisecond {
		t.Error("Pace has not waited")
	}
	mustClose(t, e)
}
