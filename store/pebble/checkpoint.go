package pebble

import (
	"context"
	"fmt"

	"github.com/gsimc/gsimc/store"
)

var _ store.Checkpointer = (*Store)(nil)

// Checkpoint implements [store.Checkpointer]. It takes milliseconds and, at first, no more disk
// space than the log of the engine.
func (s *Store) Checkpoint(ctx context.Context) (string, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return "", err
	}
	defer s.calls.Done()
	return s.engine.Copy()
}

// RemoveCheckpoint implements [store.Checkpointer]. A process that has the copy open may find files
// of it missing.
func (s *Store) RemoveCheckpoint(ctx context.Context, name string) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.Done()
	found, err := s.engine.RemoveCopy(name)
	if !found {
		return fmt.Errorf("%w: there is no checkpoint %q", store.ErrInvalid, name)
	}
	return err
}
