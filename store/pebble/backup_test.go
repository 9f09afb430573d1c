package pebble

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/manifest"
	"github.com/gsimc/gsimc/store/pebble/internal/mark"
	"github.com/gsimc/gsimc/store/pebble/internal/smallfile"
)

func noProgress(Stage, int64, int64) {}

func mustBackup(t *testing.T, disk vfs.FS, dir string) *Manifest {
	t.Helper()
	return check.Get(Backup(t.Context(), dir, "backup", Options{FS: disk}, noProgress))(t)
}

// TestBackupUnderLoad backs a checkpoint up while others write, and restores it: what was
// acknowledged before the checkpoint is there, each history is the beginning of what was written,
// and the store goes on.
func TestBackupUnderLoad(t *testing.T) {
	disk := newDisk()
	s := mustOpen(t, "store", Options{FS: disk, sortBytes: 20_000, sortBatch: 1000})
	const writers = 4
	var acknowledged [writers]atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				record := store.Record{User: fmt.Sprint(w), Event: bigEvent(i)}
				if _, err := s.Append(t.Context(), []store.Record{record}); err != nil {
					t.Error(err)
					return
				}
				acknowledged[w].Store(int64(i + 1))
			}
		})
	}
	check.Within(t, time.Minute, "events are written",
		func() bool { return acknowledged[0].Load() >= 500 })
	var before [writers]int64
	for w := range writers {
		before[w] = acknowledged[w].Load()
	}
	dir := check.Get(s.Checkpoint(t.Context()))(t)
	m := mustBackup(t, disk, disk.PathJoin("store", dir))
	stop()
	group.Wait()
	mustClose(t, s)
	check.Get(Restore(t.Context(), "backup", "restored", Options{FS: disk}, noProgress))(t)
	all := histories(t, disk, "restored")
	events := int64(0)
	for w := range writers {
		got := all[fmt.Sprint(w)]
		events += int64(len(got))
		if int64(len(got)) < before[w] {
			t.Errorf("writer %d: %d events, %d were acknowledged", w, len(got), before[w])
		}
		for i, e := range got {
			check.MustSame(t, bigEvent(i), e, "writer %d, event %d", w, i)
		}
	}
	if m.Users != writers || m.Events != events || m.Commit == 0 ||
		m.Store != mark.ID(s.Identity().ID).String() {
		t.Errorf("%d events in %+v", events, m)
	}
	takesWrites(t, disk, "restored")
}

// TestBackupDamage changes a byte of each file of a backup, cuts it and removes it: restoring says
// which it was, and leaves nothing behind.
func TestBackupDamage(t *testing.T) {
	t.Parallel()
	soak.Native(t)
	disk, before := salvageable(t, false)
	m := mustBackup(t, disk, "store")
	names := []string{manifest.Name}
	for _, f := range m.Files {
		names = append(names, f.Name)
	}
	refused := func(damaged vfs.FS, name, how string) {
		t.Helper()
		_, err := Restore(t.Context(), "backup", "restored", Options{FS: damaged}, noProgress)
		bad, ok := errors.AsType[*manifest.FileError](err)
		if !ok || bad.File != name || !strings.Contains(err.Error(), name) ||
			!errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s %s: %v", name, how, err)
		}
		for _, left := range []string{"restored", "restored.unfinished"} {
			if _, err := damaged.Stat(left); err == nil {
				t.Errorf("%s %s: %s is there", name, how, left)
			}
		}
	}
	faults := 0
	for _, i := range soak.SomeOf(t, len(names), 4) {
		name := names[i]
		path := disk.PathJoin("backup", name)
		content := check.Get(smallfile.Read(disk, path))(t)
		if len(content) > 0 {
			refused(flipped(t, disk, path, len(content)/2, 1), name, "flipped")
			faults++
		}
		if name == manifest.Name || len(content) == 0 {
			continue
		}
		cut := flipped(t, disk, path, 0, 0)
		writeFile(t, cut, path, content[:len(content)-1])
		refused(cut, name, "cut")
		check.Must(t, cut.Remove(path))
		refused(cut, name, "removed")
		faults += 2
	}
	soak.Injected(t, faults, "damaged files of backups")
	_, err := Restore(t.Context(), "backup", "store", Options{FS: disk}, noProgress)
	check.Says(t, err, "not empty", "restoring over a store")
	check.Get(Restore(t.Context(), "backup", "restored", Options{FS: disk}, noProgress))(t)
	check.Same(t, before, histories(t, disk, "restored"), "the restored store")
}

// TestIDIsNotShown: the id of a store is the key of session tokens. The manifest of a backup, its
// restoring and the errors of stores tell a name that follows from it, even of a backup whose
// manifest has the id.
func TestIDIsNotShown(t *testing.T) {
	disk := newDisk()
	s := mustOpen(t, "store", Options{FS: disk})
	mustAppend(t, s, "u", 0, 3)
	id := s.Identity().ID
	mustClose(t, s)
	made := mustBackup(t, disk, "store")
	content := check.Get(smallfile.Read(disk, "backup/"+manifest.Name))(t)
	early := *made
	early.Store = hex.EncodeToString(id[:])
	check.Must(t, manifest.Write(disk, "backup", early))
	restored := check.Get(Restore(t.Context(), "backup", "restored", Options{FS: disk},
		noProgress))(t)
	check.Same(t, made.Store, restored.Store, "store of the backup")
	check.Must(t, disk.RemoveAll("store/"+engine.DataName))
	_, loss := Open(t.Context(), "store", Options{FS: disk})
	check.Says(t, loss, made.Store, "a lost store")
	for _, shown := range []string{string(content), fmt.Sprint(made), fmt.Sprint(restored),
		fmt.Sprint(loss), fmt.Sprintf("%s %x %q", mark.ID(id), mark.ID(id), mark.ID(id))} {
		for at := range len(id) - 4 {
			check.Lacks(t, shown, hex.EncodeToString(id[at:at+5]),
				"what is shown of the id %x", id)
		}
	}
}

// TestBackupOfDamagedStore backs nothing up.
func TestBackupOfDamagedStore(t *testing.T) {
	t.Parallel()
	soak.Native(t)
	disk, _, tables := manyTables(t)
	damaged := flipped(t, disk, tables[0], 5000, 1)
	_, err := Backup(t.Context(), "store", "backup", Options{FS: damaged}, noProgress)
	check.Fails(t, err, store.ErrCorrupt, "Backup")
	check.Says(t, err, ".sst", "Backup")
	if names, err := damaged.List("backup"); err == nil {
		t.Errorf("there is a backup: %q", names)
	}
}
