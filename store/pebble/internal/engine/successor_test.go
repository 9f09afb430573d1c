package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/internal/test/check"
)

// TestSuccessorKeepsTables merges tables in a successor, and lets it close or fail: the tables that
// the engine before it reads stay until that is closed.
func TestSuccessorKeepsTables(t *testing.T) {
	for _, fails := range []bool{false, true} {
		fs := vfs.NewMem()
		reads, next := changeover(t, fs)
		before := tableNames(t, fs)
		if fails {
			next.Fail(errors.New("for the test"))
		}
		check.Must(t, next.DB.Compact(t.Context(), []byte("a"), []byte("z"), false))
		if !fails {
			next.DB.TestOnlyWaitForCleaning()
		}
		_ = next.Close(false)
		for i := range 3 {
			check.Pass(t, get(reads.DB, i), "fails=%v", fails)
		}
		for _, name := range before {
			if !slices.Contains(tableNames(t, fs), name) {
				t.Errorf("fails=%v: the table %s is gone", fails, name)
			}
		}
		mustClose(t, reads)
	}
}

// TestAlone closes the engine before a successor: tables that only the former needed go, and the
// lock of the directory stays with the latter.
func TestAlone(t *testing.T) {
	fs := vfs.NewMem()
	reads, next := changeover(t, fs)
	check.Must(t, next.DB.Compact(t.Context(), []byte("a"), []byte("z"), false))
	next.DB.TestOnlyWaitForCleaning()
	mustClose(t, reads)
	next.Alone()
	// Statistics of the tables may still be under way: the engine keeps these until they are ready.
	check.Await(t, "one table is left",
		func() bool { return len(tableNames(t, fs)) == 1 })
	if _, err := Open(t.Context(), "dir", testOptions(fs)); err == nil {
		t.Error("the directory is not locked any more")
	}
	mustClose(t, next)
	mustClose(t, mustOpen(t, "dir", testOptions(fs)))
}

// changeover returns an engine that reads some tables, and its successor.
func changeover(t *testing.T, fs vfs.FS) (reads, next *Engine) {
	t.Helper()
	e := mustOpen(t, "dir", testOptions(fs))
	for i := range 3 {
		set(t, e.DB, i)
	}
	mustClose(t, e)
	reads = check.Get(OpenReadOnly(t.Context(), "dir", testOptions(fs)))(t)
	return reads, check.Get(reads.Successor(t.Context()))(t)
}

// set writes a row into a table of its own.
func set(t *testing.T, db *lsm.DB, i int) {
	t.Helper()
	check.Must(t, db.Set(fmt.Append(nil, "k", i), []byte("value"), lsm.Sync))
	check.Must(t, db.Flush())
}

func get(db *lsm.DB, i int) error {
	_, closer, err := db.Get(fmt.Append(nil, "k", i))
	if err != nil {
		return err
	}
	return closer.Close()
}

func tableNames(t *testing.T, fs vfs.FS) []string {
	t.Helper()
	names := check.Get(fs.List("dir/" + DataName))(t)
	return slices.DeleteFunc(names, func(n string) bool { return !strings.HasSuffix(n, ".sst") })
}
