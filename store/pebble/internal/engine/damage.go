package engine

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/smallfile"
	"github.com/gsimc/gsimc/store/pebble/internal/table"
)

// DamageName is the file, beside the folder of the engine's files, that names the damaged tables,
// one in a line. It is there as long as there are any.
const DamageName = "DAMAGE"

// A goroutine of the engine that reads a damaged block again and again is slowed down: after so
// many reads there is a pause.
const (
	damagedReads     = 100
	damagedReadPause = 10 * time.Millisecond
)

// maxSublevels is how many tables a read may have to look into before they are merged. While there
// are more, [Engine.Pace] waits.
const maxSublevels = 12

// damage is what is known of damaged tables. Their other blocks are read and new tables are written
// as ever, but nothing is compacted any more: a compaction of a damaged table fails each time, and
// every compaction may come to need one.
type damage struct {
	known atomic.Bool
	reads atomic.Int64

	mu      sync.Mutex // not held while the disk is used
	files   []string   // names
	writing sync.Mutex
	noting  sync.WaitGroup
}

// Damage returns what is known of damaged tables, or nil.
func (e *Engine) Damage() error {
	if !e.damage.known.Load() {
		return nil
	}
	e.damage.mu.Lock()
	defer e.damage.mu.Unlock()
	return &store.DamageError{Files: slices.Clone(e.damage.files), Reads: e.damage.reads.Load()}
}

// damagedRead notes that a block of a table is damaged. Only the caller who needs the block gets an
// error.
func (e *Engine) damagedRead(info lsm.DataCorruptionInfo) {
	e.noteDamage(filepath.Base(info.Path)) // info.Details contains keys
	if e.damage.reads.Add(1)%damagedReads == 0 {
		time.Sleep(damagedReadPause)
	}
}

// noteDamage notes that a table is damaged, and tells of it once.
func (e *Engine) noteDamage(name string) {
	d := &e.damage
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Contains(d.files, name) {
		return
	}
	d.files = append(d.files, name)
	d.known.Store(true)
	d.noting.Go(func() { // the caller may hold locks of the engine
		e.opts.Damaged(name)
		if !e.reads {
			// Without the file the next opening meets the damage again, and that is all.
			_ = e.writeDamage()
		}
	})
}

// writeDamage writes, or removes, the file of the damaged tables.
func (e *Engine) writeDamage() error {
	d := &e.damage
	d.writing.Lock()
	defer d.writing.Unlock()
	d.mu.Lock()
	files := slices.Clone(d.files)
	d.mu.Unlock()
	if len(files) == 0 {
		return errors.Join(e.fs.Remove(e.fs.PathJoin(e.dir, DamageName)),
			smallfile.SyncDir(e.fs, e.dir))
	}
	content := strings.Join(files, "\n") + "\n"
	return smallfile.Replace(e.fs, e.dir, DamageName, []byte(content))
}

// recallDamage looks at the tables that were found to be damaged, before the engine is opened. A
// table that is gone, or whole after all, is forgotten; one that the disk does not give is not. The
// error is that of a shortage, which says nothing about a table.
func (e *Engine) recallDamage() error {
	names, err := e.fs.List(e.dir)
	if err != nil || !slices.Contains(names, DamageName) {
		return err
	}
	content, err := smallfile.Read(e.fs, e.fs.PathJoin(e.dir, DamageName))
	if err != nil {
		return err
	}
	data := e.fs.PathJoin(e.dir, DataName)
	there, err := e.fs.List(data)
	if err != nil {
		return err
	}
	noted := strings.Fields(string(content))
	for _, name := range noted {
		if !slices.Contains(there, name) {
			continue
		}
		switch err := table.Whole(e.fs, e.fs.PathJoin(data, name)); {
		case shortage(err) != "":
			return fmt.Errorf("looking at the damaged table %s: %w", name, err)
		case err != nil:
			e.damage.files = append(e.damage.files, name)
		}
	}
	e.damage.known.Store(len(e.damage.files) > 0)
	for _, name := range e.damage.files {
		e.opts.Damaged(name)
	}
	if len(noted) == len(e.damage.files) {
		return nil
	}
	return e.writeDamage() // once: a crash leaves all names or those that are left
}

// Pace waits while the tables come faster than they are merged, until done is closed. It does not
// wait in an engine that has failed, or that merges nothing because of damage.
func (e *Engine) Pace(done <-chan struct{}) {
	began := time.Now()
	waited := false
	for e.Err() == nil && !e.damage.known.Load() &&
		e.DB.Metrics().Levels[0].Sublevels >= maxSublevels {
		waited = true
		select {
		case <-time.After(10 * time.Millisecond):
			continue
		case <-done:
		}
		break
	}
	if waited {
		e.opts.Slow("write stall", time.Since(began))
	}
}

// A Table is a file of the engine.
type Table struct {
	Name, Path        string
	Bytes             int64
	Smallest, Largest []byte // keys
}

// Tables returns the tables of which the engine consists.
func (e *Engine) Tables() (tables []Table, err error) {
	levels, err := e.DB.SSTables()
	if err != nil {
		return nil, ReadError(err)
	}
	for _, level := range levels {
		for _, t := range level {
			name := t.BackingSSTNum.String() + ".sst"
			tables = append(tables, Table{Name: name, Bytes: int64(t.Size),
				Path:     e.fs.PathJoin(e.dir, DataName, name),
				Smallest: t.Smallest.UserKey, Largest: t.Largest.UserKey})
		}
	}
	return tables, nil
}

// FS returns the file system of the engine's files.
func (e *Engine) FS() vfs.FS { return e.fs }

// Damaged reports whether an error of Pebble says that a file is damaged.
func Damaged(err error) bool { return lsm.IsCorruptionError(err) }
