package cli

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/file/atomicfile"
)

var errIsDir = errors.New("is a directory")

// probe tries to make a file in the folder of path. It returns the folder, and the error without
// the name of the probe.
func probe(path string) (dir string, err error) {
	dir = filepath.Dir(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return dir, errIsDir
	}
	f, err := atomicfile.Create(path)
	if err != nil {
		return dir, fault.Cause(err)
	}
	return dir, f.Abort()
}
