package pebble

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"path"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/manifest"
	"github.com/gsimc/gsimc/store/pebble/internal/mark"
	"github.com/gsimc/gsimc/store/pebble/internal/smallfile"
)

// Manifest says what a backup is: see [Backup].
type Manifest = manifest.Manifest

// A Stage is a part of the work of [Backup] and [Restore], of which they tell the bytes.
type Stage string

// Stages.
const (
	StageCopy  Stage = "copying files"
	StageCheck Stage = "checking the copy"
)

// Backup copies a store that no process writes to, such as a checkpoint, to a directory that is
// empty or not there, checks every block and every history of the copy, and writes a manifest. The
// directory gets its content at once, when all of that is done; another backup to it is refused
// meanwhile. A store that is not whole is not backed up: the error wraps [store.ErrCorrupt].
func Backup(
	ctx context.Context, dir, to string, opts Options,
	progress func(stage Stage, done, total int64),
) (m *Manifest, err error) {
	opts = opts.withDefaults()
	r, err := OpenReadOnly(dir, opts)
	if err != nil {
		return nil, err
	}
	m = &Manifest{Made: time.Now().UTC(), Store: r.header.id.String(),
		Format: r.header.format, Commit: r.commit}
	err = engine.Build(opts.FS, to, func(building string) error {
		if err := copyStore(ctx, opts.FS, dir, building, m, progress); err != nil {
			return err
		}
		report, err := checkCopy(ctx, building, opts, progress)
		if err != nil {
			return err
		}
		m.Users, m.Events = report.Users, report.Events
		return manifest.Write(opts.FS, building, *m)
	})
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	return m, nil
}

// copyStore copies the files of a store and notes them.
func copyStore(
	ctx context.Context, fs vfs.FS, dir, to string, m *Manifest,
	progress func(stage Stage, done, total int64),
) error {
	names, total, err := storeFiles(fs, dir)
	if err != nil {
		return err
	}
	if err := fs.MkdirAll(fs.PathJoin(to, engine.DataName), 0o700); err != nil {
		return err
	}
	done := int64(0)
	for _, name := range names {
		f, err := manifest.Copy(ctx, fs, dir, to, name, func(bytes int64) {
			done += bytes
			progress(StageCopy, done, max(done, total))
		})
		if err != nil {
			return fmt.Errorf("copying %s: %w", name, err)
		}
		m.Files = append(m.Files, f)
	}
	return smallfile.SyncDir(fs, fs.PathJoin(to, engine.DataName))
}

// storeFiles returns the files that make a store, with their size.
func storeFiles(fs vfs.FS, dir string) (names []string, bytes int64, err error) {
	there, err := fs.List(fs.PathJoin(dir, engine.DataName))
	if err != nil {
		return nil, 0, err
	}
	for _, name := range there {
		if name != engine.LockName {
			names = append(names, path.Join(engine.DataName, name))
		}
	}
	if _, err := fs.Stat(fs.PathJoin(dir, mark.Name)); err == nil {
		names = append(names, mark.Name)
	}
	for _, name := range names {
		info, err := fs.Stat(fs.PathJoin(dir, name))
		if err != nil {
			return nil, 0, err
		}
		bytes += info.Size()
	}
	return names, bytes, nil
}

// checkCopy looks at a copy, which must be whole.
func checkCopy(
	ctx context.Context, dir string, opts Options, progress func(stage Stage, done, total int64),
) (*Report, error) {
	report, err := verifyWhole(ctx, dir, opts,
		func(done, total int64) { progress(StageCheck, done, total) })
	if err == nil && !report.Whole() {
		err = fmt.Errorf("%w: histories are not whole (%d), and these files are damaged: %s: see "+
			"gsimc verify and gsimc salvage", store.ErrCorrupt, report.Incomplete,
			strings.Join(report.Damaged, ", "))
	}
	return report, err
}

// Restore makes a store of a backup, in a directory that is empty or not there. Each file must be
// what the manifest says, or the error is a [*manifest.FileError]. The directory gets its content
// at once, when the store in it has been opened and checked.
//
// The store goes on from the moment of the backup, with the id that it had, and with a mark of its
// own: what was written after the backup is not missed. Users who were erased after it are back.
func Restore(
	ctx context.Context, from, dir string, opts Options,
	progress func(stage Stage, done, total int64),
) (*Manifest, error) {
	opts = opts.withDefaults()
	m, err := manifest.Read(opts.FS, from)
	if err != nil {
		return nil, fmt.Errorf("reading what a backup says of itself: %w", err)
	}
	if !m.Local(engine.DataName) {
		return nil, fmt.Errorf("the manifest names files outside of the backup: use another backup")
	}
	err = engine.Build(opts.FS, dir, func(building string) error {
		fs := opts.FS
		if err := fs.MkdirAll(fs.PathJoin(building, engine.DataName), 0o700); err != nil {
			return err
		}
		if err := m.CopyBack(ctx, fs, from, building, func(done, total int64) {
			progress(StageCopy, done, total)
		}); err != nil {
			return err
		}
		return begin(ctx, building, opts, &m, progress)
	})
	if err != nil {
		return nil, err
	}
	return &m, nil
}

// begin lets a store that was copied back begin as one that has lost what came after the backup. It
// puts the name of the store into the manifest: earlier versions wrote the id there.
func begin(
	ctx context.Context, dir string, opts Options, m *Manifest,
	progress func(stage Stage, done, total int64),
) error {
	err := opts.FS.Remove(opts.FS.PathJoin(dir, mark.Name))
	if err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return err
	}
	s, err := Open(ctx, dir, opts) // which writes a mark
	if err != nil {
		return err
	}
	m.Store = s.reader.id.String()
	if err := s.Close(); err != nil {
		return err
	}
	report, err := checkCopy(ctx, dir, opts, progress)
	if err == nil && (report.Users != m.Users || report.Events != m.Events) {
		err = fmt.Errorf("%w: the restored store has %d users with %d events, the backup had %d "+
			"with %d", store.ErrCorrupt, report.Users, report.Events, m.Users, m.Events)
	}
	return err
}
