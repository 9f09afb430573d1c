package engine

import (
	"context"
	"testing"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store/pebble/internal/mark"
)

// testOptions are options for an engine that may fail.
func testOptions(fs vfs.FS) Options {
	return Options{
		CacheBytes: 1 << 20, ReserveBytes: -1, OpenTables: 100,
		ClosePatience: 100 * time.Millisecond, FS: fs,
		Create:  func(*lsm.DB, mark.ID) error { return nil },
		Damaged: func(string) {}, Failed: func(error) {}, MarkFailed: func(error) {},
		Slow: func(string, time.Duration) {},
	}
}

func mustOpen(t testing.TB, dir string, opts Options) *Engine {
	t.Helper()
	return check.Get(Open(context.Background(), dir, opts))(t)
}

func mustClose(t testing.TB, e *Engine) {
	t.Helper()
	check.Must(t, e.Close(true))
}

// TestMarkIsClosedWithTheEngine closes an engine that ends in an error: the mark is written at once,
// and not later, when others may have the directory.
func TestMarkIsClosedWithTheEngine(t *testing.T) {
	fs := vfs.NewMem()
	opts := testOptions(fs)
	opts.MarkEvery = time.Hour
	e := mustOpen(t, "dir", opts)
	id := e.marked.ID
	check.Must(t, e.KeepMark(id, 0, 0))
	e.Durable(5, 1)
	check.Get(e.DB.NewIter(nil))(t) // which is left open
	if err := e.Close(true); err == nil {
		t.Error("no error")
	}
	m, _, err := mark.Read(fs, "dir")
	if err != nil || m.ID != id || m.Commit != 5 {
		t.Errorf("the mark is %+v, %v, want commit 5", m, err)
	}
}
