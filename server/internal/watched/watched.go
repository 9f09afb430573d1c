// Package watched reads files of settings again when their content changes.
//
// A file that is bad, half written or missing changes nothing: what it said when it was last good
// stays. So a file can be exchanged, edited or linked anew while a server runs.
package watched

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gsimc/gsimc/internal/fault"
)

// MaxFileBytes bounds what is read: a thousand tokens, or a bundle of authorities.
const MaxFileBytes = 1 << 20

// A Path is a file and the field that names it.
type Path struct{ Field, Name string }

// Files are what a few files say together, as of the last time that they were good.
type Files[T any] struct {
	Name     string // in the plural, for logs
	Paths    []Path
	Parse    func(texts [][]byte) (T, error) // of the paths, in their order
	Log      *slog.Logger
	Reloaded func(good bool) // is told of each change, one after the other
	OnChange func()          // if not nil, Watch tells it that other files count from now on

	current atomic.Pointer[T]

	mu          sync.Mutex
	taken, seen [sha256.Size]byte // of the content that was last taken or refused, and last read
	bad         bool              // what was last taken or refused was refused
	unreadable  bool              // the last reading failed
}

// Get returns what the files say. It is safe for concurrent use.
func (w *Files[T]) Get() T { return *w.current.Load() }

// Open reads the files for the first time. A fault of what they say names the file.
func (w *Files[T]) Open() error {
	texts, hash, err := w.read()
	if err != nil {
		return err
	}
	value, err := w.Parse(texts)
	if f, ok := errors.AsType[*fault.Fault](err); ok {
		f.Got = w.file(f.Field) + ":" // what the flag was given
	}
	if err != nil {
		return err
	}
	w.current.Store(&value)
	w.taken, w.seen = hash, hash
	return nil
}

// Watch looks at the files at this interval until ctx ends. It does nothing if w is nil.
func (w *Files[T]) Watch(ctx context.Context, every time.Duration) {
	if w == nil {
		return
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if w.Look(ctx) && w.OnChange != nil {
				w.OnChange()
			}
		}
	}
}

// Look takes the files if their content is new and two readings in a row agree on it: several files
// do not change at once, and one may be half written. Files that stay as they are, good or bad, are
// judged once. It reports whether files were taken. Like [Files.LookNow] it is safe for concurrent
// use.
func (w *Files[T]) Look(ctx context.Context) (taken bool) { return w.look(ctx, false) }

// LookNow is [Files.Look] for somebody who says that the files are complete: one reading is enough,
// and bad files are reported again.
func (w *Files[T]) LookNow(ctx context.Context) (taken bool) { return w.look(ctx, true) }

func (w *Files[T]) look(ctx context.Context, complete bool) (taken bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	texts, hash, err := w.read()
	if err != nil {
		if !w.unreadable || complete { // a file that is being exchanged may be missing for a moment
			w.unreadable = true
			w.refuse(ctx, err)
		}
		return false
	}
	w.unreadable = false
	before := w.seen
	w.seen = hash
	judged := hash == w.taken && (!complete || !w.bad)
	if judged || hash != before && !complete {
		return false
	}
	w.taken = hash
	value, err := w.Parse(texts)
	if w.bad = err != nil; w.bad {
		w.refuse(ctx, err)
		return false
	}
	w.current.Store(&value)
	w.Reloaded(true)
	w.Log.LogAttrs(ctx, slog.LevelInfo, w.Name+" read again")
	return true
}

// refuse reports files that change nothing.
func (w *Files[T]) refuse(ctx context.Context, err error) {
	w.Reloaded(false)
	w.Log.LogAttrs(ctx, slog.LevelError, "new "+w.Name+" refused: the old ones stay",
		slog.String("error", fault.Text(err, w.file)))
}

// file is the name of the file of a field.
func (w *Files[T]) file(field string) string {
	for _, p := range w.Paths {
		if p.Field == field {
			return p.Name
		}
	}
	return field
}

// read returns the texts of the files and their hash.
func (w *Files[T]) read() (texts [][]byte, hash [sha256.Size]byte, err error) {
	all := sha256.New()
	for _, p := range w.Paths {
		text, err := ReadFile(p.Name)
		if err != nil {
			return nil, hash, &fault.Fault{Field: p.Field, Err: err}
		}
		texts = append(texts, text)
		one := sha256.Sum256(text)
		all.Write(one[:])
	}
	return texts, [sha256.Size]byte(all.Sum(nil)), nil
}

// ReadFile reads a regular file of a reasonable size: opening a pipe would wait for its writer.
func ReadFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fault.PathError(err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fault.PathError(err)
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fault.PathError(err)
	}
	if len(text) > MaxFileBytes {
		return nil, fmt.Errorf("%s: has more than %d bytes", name, MaxFileBytes)
	}
	return text, nil
}
