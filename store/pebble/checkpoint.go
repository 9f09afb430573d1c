package pebble

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/store"
)

// checkpointsName is the folder, inside that of the store, of the copies of the store; each has a folder of its own that can be
// opened like a store.
const checkpointsName = "checkpoints"

var _ store.Checkpointer = (*Store)(nil)

// checkpoints are the copies that this process has made.
type checkpoints struct {
	mu   sync.Mutex
	next int
	live []string // names
}

// Checkpoint implements store.Checkpointer. The engine links its tables, which never change, and copies its log: that takes
// milliseconds and, at first, no more disk space than the log.
func (s *Store) Checkpoint(ctx context.Context) (string, error) {
	if err := s.enter(ctx); err != nil {
		return "", err
	}
	defer s.calls.Done()
	if err := s.failure.err(); err != nil {
		return "", err
	}
	if err := s.space.admit(memTableBytes * memTables); err != nil { // as much as the log can hold
		return "", err
	}
	s.checkpoints.mu.Lock()
	defer s.checkpoints.mu.Unlock()
	s.checkpoints.next++
	name := checkpointsName + "/" + strconv.Itoa(s.checkpoints.next)
	if err := s.writeCheckpoint(s.fs.PathJoin(s.dir, name)); err != nil {
		return "", err
	}
	s.checkpoints.live = append(s.checkpoints.live, name)
	return name, nil
}

func (s *Store) writeCheckpoint(dir string) error {
	err := s.fs.MkdirAll(dir, 0o700)
	if err == nil {
		err = s.guarded(func() error { return s.db.Checkpoint(s.fs.PathJoin(dir, dataName)) })
	}
	if err == nil {
		return nil
	}
	if vfs.IsNoSpaceError(err) {
		err = fmt.Errorf("%w: %w", store.ErrFull, err)
	}
	return errors.Join(fmt.Errorf("copying the store: %w", err), s.fs.RemoveAll(dir))
}

// RemoveCheckpoint implements store.Checkpointer. A process that has the copy open may find files of it missing.
func (s *Store) RemoveCheckpoint(ctx context.Context, name string) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.calls.Done()
	s.checkpoints.mu.Lock()
	defer s.checkpoints.mu.Unlock()
	at := slices.Index(s.checkpoints.live, name)
	if at < 0 {
		return fmt.Errorf("%w: there is no checkpoint %q", store.ErrInvalid, name)
	}
	if err := s.fs.RemoveAll(s.fs.PathJoin(s.dir, name)); err != nil {
		return fmt.Errorf("removing a checkpoint: %w", err)
	}
	s.checkpoints.live = slices.Delete(s.checkpoints.live, at, at+1)
	return nil
}

// removeOldCheckpoints removes the copies that an earlier process left behind. One that somebody reads stays, and its number
// is not given again.
func (s *Store) removeOldCheckpoints() error {
	folder := s.fs.PathJoin(s.dir, checkpointsName)
	if _, err := s.fs.Stat(folder); err != nil {
		return nil // there never was one
	}
	names, err := s.fs.List(folder)
	if err != nil {
		return fmt.Errorf("listing old checkpoints: %w", err)
	}
	for _, name := range names {
		if number, err := strconv.Atoi(name); err == nil {
			s.checkpoints.next = max(s.checkpoints.next, number)
		}
		old := s.fs.PathJoin(folder, name)
		lock, err := lockDir(s.fs, old)
		if err != nil {
			continue
		}
		if err := errors.Join(s.fs.RemoveAll(old), lock.Close()); err != nil {
			return fmt.Errorf("removing an old checkpoint: %w", err)
		}
	}
	return nil
}

// ofCheckpoint reports whether a file or folder belongs to the checkpoints: the store itself can do without it.
func (s *Store) ofCheckpoint(name string) bool {
	return strings.HasPrefix(name, s.fs.PathJoin(s.dir, checkpointsName))
}
