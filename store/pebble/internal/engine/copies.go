package engine

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/mark"
)

// CopiesName is the folder, inside that of the engine, of its copies. Each of them has a folder of
// its own that can be opened like the engine.
const CopiesName = "checkpoints"

// copies are the copies that this process has made.
type copies struct {
	mu   sync.Mutex
	next int
	live []string // names
}

// Copy makes a copy of the engine as of one moment and returns its name relative to the directory.
// The engine links its tables, which never change, and copies its log: that takes milliseconds and,
// at first, no more disk space than the log. The error wraps [store.ErrFull] if that is the cause.
func (e *Engine) Copy() (name string, err error) {
	if err := e.Err(); err != nil {
		return "", err
	}
	if err := e.Admit(TableBytes * Tables); err != nil { // as much as the log can hold
		return "", err
	}
	e.copies.mu.Lock()
	defer e.copies.mu.Unlock()
	e.copies.next++
	name = CopiesName + "/" + strconv.Itoa(e.copies.next)
	if err := e.copyTo(e.fs.PathJoin(e.dir, name)); err != nil {
		return "", err
	}
	e.copies.live = append(e.copies.live, name)
	return name, nil
}

func (e *Engine) copyTo(dir string) error {
	err := e.fs.MkdirAll(dir, 0o700)
	var marked mark.Mark
	if e.keeper != nil {
		marked = e.keeper.Mark() // before the copy, which so has no commit less
	}
	if err == nil {
		err = e.Do(func() error { return e.DB.Checkpoint(e.fs.PathJoin(dir, DataName)) })
	}
	if err == nil && e.keeper != nil {
		err = mark.Write(e.fs, dir, marked)
	}
	if err == nil {
		return nil
	}
	if lackOfSpace(err) {
		err = fmt.Errorf("%w: %w", store.ErrFull, err)
	}
	return errors.Join(fmt.Errorf("copying the store: %w", err), e.fs.RemoveAll(dir))
}

// RemoveCopy removes a copy that this process has made, and reports whether there is one of the
// name.
func (e *Engine) RemoveCopy(name string) (found bool, err error) {
	e.copies.mu.Lock()
	defer e.copies.mu.Unlock()
	at := slices.Index(e.copies.live, name)
	if at < 0 {
		return false, nil
	}
	if err := e.fs.RemoveAll(e.fs.PathJoin(e.dir, name)); err != nil {
		return true, fmt.Errorf("removing a checkpoint: %w", err)
	}
	e.copies.live = slices.Delete(e.copies.live, at, at+1)
	return true, nil
}

// removeOldCopies removes the copies that an earlier process left behind. A copy that another
// process reads stays, and its number is not given again.
func (e *Engine) removeOldCopies() error {
	folder := e.fs.PathJoin(e.dir, CopiesName)
	if _, err := e.fs.Stat(folder); err != nil {
		return nil // there never was one
	}
	names, err := e.fs.List(folder)
	if err != nil {
		return fmt.Errorf("listing old checkpoints: %w", err)
	}
	for _, name := range names {
		if number, err := strconv.Atoi(name); err == nil {
			e.copies.next = max(e.copies.next, number)
		}
		old := e.fs.PathJoin(folder, name)
		lock, err := lockDir(e.fs, old)
		if err != nil {
			continue
		}
		if err := errors.Join(e.fs.RemoveAll(old), lock.Close()); err != nil {
			return fmt.Errorf("removing an old checkpoint: %w", err)
		}
	}
	return nil
}

// ofCopy reports whether a file or folder belongs to the copies: the engine can do without it.
func (e *Engine) ofCopy(name string) bool {
	return strings.HasPrefix(name, e.fs.PathJoin(e.dir, CopiesName))
}
