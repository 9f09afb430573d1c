package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Span is a range of keys, without its end.
type Span struct{ First, End []byte }

const (
	// fillerPrefix begins the keys, and the names of the files, that rewrite the list of tables.
	fillerPrefix = "forget-"
	// maxFillers bounds how many tables that may take: one for each table of the engine.
	maxFillers = 4096
	// filePatience is how often it is looked whether files have gone.
	filePatience = 20 * time.Millisecond
)

// Forget returns when what has been removed from the spans is in no file any more: no log, table
// or list of tables. fillers is a prefix of keys that the engine may use. Files that a reader still
// uses are waited for.
//
// It flushes the tables in memory, which ends the logs, and compacts the spans, which leaves
// neither the old rows nor what removed them. The list of tables names the first and last key of
// tables, so it must be written anew. The engine does that once there are more changes to it than
// tables. So tables of no use are added and removed until it does.
func (e *Engine) Forget(ctx context.Context, spans []Span, fillers []byte) error {
	if err := e.Damage(); err != nil {
		return err // nothing is compacted
	}
	if err := e.flush(ctx); err != nil {
		return err
	}
	before, err := e.files()
	if err != nil {
		return err
	}
	for _, s := range spans {
		err := e.Do(func() error { return e.DB.Compact(ctx, s.First, s.End, false) })
		if err != nil {
			return err
		}
	}
	after, err := e.files()
	if err != nil {
		return err
	}
	if err := e.rewriteList(ctx, fillers); err != nil {
		return err
	}
	// Tables that were made meanwhile, and are of no use already, may hold what was removed too.
	return e.waitUntilGone(ctx, slices.Concat(before, after), newest(before, "", ".log"))
}

// flush writes the tables in memory to the disk. While that is full there is no end but that of the
// context.
func (e *Engine) flush(ctx context.Context) error {
	var flushed <-chan struct{}
	err := e.Do(func() (err error) {
		flushed, err = e.DB.AsyncFlush()
		return err
	})
	if err != nil {
		return err
	}
	select {
	case <-flushed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-e.Failed():
		return e.Err()
	}
}

// files returns the names of the engine's files.
func (e *Engine) files() ([]string, error) { return e.fs.List(e.fs.PathJoin(e.dir, DataName)) }

// rewriteList makes the engine write its list of tables anew.
func (e *Engine) rewriteList(ctx context.Context, prefix []byte) error {
	end := append(slices.Clone(prefix), 0xff)
	began, err := e.list()
	if err != nil {
		return err
	}
	for {
		now, err := e.list()
		if err != nil || now != began {
			return err
		}
		var tables int64
		for _, level := range e.DB.Metrics().Levels {
			tables += level.TablesCount
		}
		if tables > maxFillers {
			return nil // it will be written anew at the next opening
		}
		err = e.Do(func() error { return e.addTables(ctx, prefix, int(tables)+1) })
		if err == nil {
			err = e.Do(func() error { return e.DB.DeleteRange(prefix, end, nil) })
		}
		if err == nil {
			err = e.Do(func() error { return e.DB.Compact(ctx, prefix, end, false) })
		}
		if err != nil {
			return err
		}
	}
}

// addTables adds tables of one row each.
func (e *Engine) addTables(ctx context.Context, prefix []byte, n int) error {
	var paths []string
	for i := range n {
		path := e.fs.PathJoin(e.dir, DataName, fmt.Sprint(fillerPrefix, i, ".sst"))
		file, err := e.watched.Create(path, vfs.WriteCategoryUnspecified)
		if err != nil {
			return err
		}
		w := sstable.NewWriter(objstorageprovider.NewFileWritable(file), sstable.WriterOptions{
			TableFormat: e.DB.FormatMajorVersion().MaxTableFormat(),
		})
		key := binary.BigEndian.AppendUint32(slices.Clone(prefix), uint32(i))
		if err := errors.Join(w.Set(key, nil), w.Close()); err != nil {
			return err
		}
		paths = append(paths, path)
	}
	return e.DB.Ingest(ctx, paths)
}

// list returns the name of the list of tables.
func (e *Engine) list() (string, error) {
	names, err := e.files()
	return newest(names, "MANIFEST-", ""), err
}

// newest returns the last of the files whose names begin and end so.
func newest(names []string, prefix, suffix string) (last string) {
	for _, name := range names {
		if strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix) && older(last, name) {
			last = name
		}
	}
	return last
}

// older compares files of a kind. Their numbers have leading zeroes up to six digits.
func older(a, b string) bool { return len(a) < len(b) || len(a) == len(b) && a < b }

// waitUntilGone waits until those of the files are gone that the engine does not use any more. Logs
// before a certain one are of no use.
func (e *Engine) waitUntilGone(ctx context.Context, names []string, log string) error {
	for {
		used, err := e.usedFiles()
		if err != nil {
			return err
		}
		there, err := e.files()
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(names, func(name string) bool {
			useless := !used[name]
			if strings.HasSuffix(name, ".log") {
				useless = older(name, log)
			}
			return useless && slices.Contains(there, name)
		}) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-e.Failed():
			return e.Err()
		case <-time.After(filePatience):
		}
	}
}

// usedFiles returns the names of the engine's files without its logs. Those that are neither tables
// nor lists of tables count as used.
func (e *Engine) usedFiles() (map[string]bool, error) {
	used := map[string]bool{}
	names, err := e.files()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".sst") && !strings.HasPrefix(name, "MANIFEST-") {
			used[name] = true
		}
	}
	used[newest(names, "MANIFEST-", "")] = true
	tables, err := e.Tables()
	for _, t := range tables {
		used[t.Name] = true
	}
	return used, err
}
