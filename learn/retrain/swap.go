package retrain

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/gsimc/gsimc/internal/file/atomicfile"
	"github.com/gsimc/gsimc/model"
)

// fresh returns the name of the file that a training writes.
func (l *Loop) fresh() string { return l.model + ".retrained" }

// rollback returns a second name of the old model's file while the new one is loaded. The name is
// hidden and says whose it is, since a file of this name is removed.
func (l *Loop) rollback() string {
	dir, name := filepath.Split(l.model)
	return filepath.Join(dir, "."+name+".gsimc-retrain-rollback")
}

// clean removes the file of a training, complete or not. After a swap there is none.
func (l *Loop) clean() {
	_ = os.Remove(l.fresh())
	atomicfile.Sweep(l.fresh())
}

// swap gives the new file the name of the serving model's and has the server load it. If the server
// refuses it, the old file gets its name back.
func (l *Loop) swap(ctx context.Context, fresh string) error {
	m, err := model.Open(fresh)
	if err == nil {
		err = m.Close()
	}
	if err != nil {
		return err
	}
	previous := l.rollback()
	if err := os.Remove(previous); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	err = os.Link(l.model, previous)
	if errors.Is(err, os.ErrNotExist) { // the first model
		return l.swapFirst(ctx, fresh)
	}
	if err != nil {
		return err
	}
	if err := os.Rename(fresh, l.model); err != nil {
		return errors.Join(err, os.Remove(previous))
	}
	if err := l.cfg.Server.Reload(ctx); err != nil {
		return errors.Join(err, os.Rename(previous, l.model))
	}
	return os.Remove(previous)
}

// swapFirst is swap without an old file.
func (l *Loop) swapFirst(ctx context.Context, fresh string) error {
	if err := os.Rename(fresh, l.model); err != nil {
		return err
	}
	if err := l.cfg.Server.Reload(ctx); err != nil {
		return errors.Join(err, os.Remove(l.model))
	}
	return nil
}
