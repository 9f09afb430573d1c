package engine

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/store/pebble/internal/smallfile"
)

// unfinished ends the name of a directory that is being built.
const unfinished = ".unfinished"

// Build has fn fill a directory beside dir, which then gets the name of dir. There must be no dir,
// or an empty one. So dir is there as a whole or not at all. What an interrupted Build has left is
// removed.
func Build(fs vfs.FS, dir string, fn func(building string) error) (err error) {
	dir = filepath.Clean(dir) // DIR/ has its neighbour beside it, not in it
	if err := free(fs, dir); err != nil {
		return err
	}
	building := dir + unfinished
	if err := fs.RemoveAll(building); err != nil {
		return fmt.Errorf("removing what an interrupted run has left: %w", err)
	}
	if err := makeDir(fs, building); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, fs.RemoveAll(building))
		}
	}()
	if err := fn(building); err != nil {
		return err
	}
	if err := free(fs, dir); err != nil { // it took its time
		return err
	}
	if err := fs.Remove(dir); err != nil && !errors.Is(err, iofs.ErrNotExist) {
		return err
	}
	if err := fs.Rename(building, dir); err != nil {
		return err
	}
	return smallfile.SyncDir(fs, fs.PathDir(dir))
}

// free returns an error if there is something in the way of a new directory.
func free(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	switch {
	case errors.Is(err, iofs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(names) > 0:
		return fmt.Errorf("directory %q is not empty: give an empty or a new one", dir)
	}
	return nil
}
