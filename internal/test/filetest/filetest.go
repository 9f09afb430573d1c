// Package filetest looks into the files of a store, for tests of what erasures leave there.
package filetest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// With returns the paths of the files below a folder that contain a text. Files may be removed
// meanwhile.
func With(tb testing.TB, dir, text string) (found []string) {
	tb.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var content []byte
			content, err = os.ReadFile(path)
			if bytes.Contains(content, []byte(text)) {
				found = append(found, path)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return found
}
