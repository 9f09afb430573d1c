package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

var errIsDir = errors.New("is a directory")

// probe tries to make a file in the folder of path. It returns the folder, and the error without
// the name of the probe.
func probe(path string) (dir string, err error) {
	dir = filepath.Dir(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return dir, errIsDir
	}
	f, err := os.CreateTemp(dir, ".gsimc-probe-*")
	if e := new(fs.PathError); errors.As(err, &e) {
		return dir, e.Err
	}
	if err != nil {
		return dir, err
	}
	return dir, errors.Join(f.Close(), os.Remove(f.Name()))
}

func adviseFolder(err error) error { return fmt.Errorf("%w: make it, or choose another", err) }
