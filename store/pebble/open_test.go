package pebble

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
)

func testEvent(i int) store.Event {
	return store.Event{ID: "e" + strconv.Itoa(i), Item: "item",
		Value: 1}
}

func mustAppend(t testing.TB, s store.Store, user string, from, to int) {
	t.Helper()
	var records []store.Record
	for i := from; i < to; i++ {
		records = append(records, store.Record{User: user, Event: testEvent(i)})
	}
	check.Must(t, appendAll(context.Background(), s, records))
}

// wantRefused opens a directory and checks that it is refused with the message.
func wantRefused(t *testing.T, dir, message string) {
	t.Helper()
	s, err := openSoon(dir, Options{})
	if err == nil {
		mustClose(t, s)
	}
	check.Says(t, err, message, "Open")
}

func TestOpenRefuses(t *testing.T) {
	t.Run("foreign directory", func(t *testing.T) {
		dir := t.TempDir()
		check.Must(t, os.WriteFile(filepath.Join(dir, "thesis.tex"), []byte("x"), 0o600))
		wantRefused(t, dir, "is not empty and holds no store")
		if names, _ := os.ReadDir(dir); len(names) != 1 {
			t.Errorf("the refused directory now holds %d files, want 1", len(names))
		}
	})
	t.Run("file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		check.Must(t, os.WriteFile(file, nil, 0o600))
		wantRefused(t, file, "is a file, want a directory")
	})
	t.Run("emptied store", func(t *testing.T) {
		dir := newStoreDir(t)
		data := filepath.Join(dir, engine.DataName)
		check.Must(t, os.RemoveAll(data))
		check.Must(t, os.Mkdir(data, 0o700))
		wantRefused(t, dir, "(1 acknowledged commits at ")
		removeSeal(t, dir)
		wantRefused(t, dir, "database does not exist")
	})
	t.Run("other format", func(t *testing.T) {
		dir := newStoreDir(t)
		editFormat(t, dir, func(db *lsm.DB) error {
			return db.Set(row.FormatKey, row.EncodeNumber(nil, row.FormatKey, formatNumber+1),
				lsm.Sync)
		})
		wantRefused(t, dir, "the store has format 5, this program knows format 4")
	})
	t.Run("no format", func(t *testing.T) {
		dir := newStoreDir(t)
		editFormat(t, dir, func(db *lsm.DB) error { return db.Delete(row.FormatKey, lsm.Sync) })
		wantRefused(t, dir, "the format number is missing")
	})
	t.Run("open in this process", func(t *testing.T) {
		dir := t.TempDir()
		s := mustOpen(t, dir, Options{})
		wantRefused(t, dir, "lock held by current process")
		mustClose(t, s)
		mustClose(t, mustOpen(t, dir, Options{}))
	})
}

// newStoreDir returns the directory of a closed store with one event.
func newStoreDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{})
	mustAppend(t, s, "u", 0, 1)
	mustClose(t, s)
	return dir
}

// editFormat changes the rows of a closed store behind its back.
func editFormat(t *testing.T, dir string, edit func(*lsm.DB) error) {
	t.Helper()
	removeSeal(t, dir)
	db := check.Get(lsm.Open(filepath.Join(dir, engine.DataName),
		&lsm.Options{FormatMajorVersion: lsm.FormatNewest, Logger: quiet{}}))(t)
	check.Must(t, edit(db))
	check.Must(t, db.Close())
}

func removeSeal(t *testing.T, dir string) {
	t.Helper()
	check.Must(t, os.Remove(filepath.Join(dir, engine.SealName)))
}

func TestDirectoryIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	mustClose(t, mustOpen(t, dir, Options{}))
	info := check.Get(os.Stat(dir))(t)
	check.Same(t, os.FileMode(0o700), info.Mode().Perm(), "permissions of the directory")
}

// quiet is a logger of the engine.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(string, ...any) {}
