package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestWriteError loses the file under the writer: Close must not rename.
func TestWriteError(t *testing.T) {
	dir := t.TempDir()
	f, err := Create(filepath.Join(dir, "name"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.temp.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("lost")); err == nil {
		t.Fatal("a write to a closed file succeeds")
	}
	if err := f.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Close: %v, want the error of Write", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("the folder holds %v (%v), want nothing", entries, err)
	}
}
