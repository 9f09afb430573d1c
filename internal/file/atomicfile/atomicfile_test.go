package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/file/atomicfile"
)

// content returns the files of the folder by name.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(b)
	}
	return files
}

// begin starts to replace a file "name" that holds "old", and writes "new" to it.
func begin(t *testing.T) (dir string, f *atomicfile.File) {
	t.Helper()
	dir = t.TempDir()
	path := filepath.Join(dir, "name")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := atomicfile.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("new")); err != nil {
		t.Fatal(err)
	}
	return dir, f
}

func TestClose(t *testing.T) {
	dir, f := begin(t)
	if got := content(t, dir); got["name"] != "old" || len(got) != 2 {
		t.Errorf("before Close the folder holds %v, want the old file and a temporary one", got)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"name": "new"}, content(t, dir)); diff != "" {
		t.Errorf("after Close (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(filepath.Join(dir, "name")); err != nil || info.Mode() != 0o644 {
		t.Errorf("mode %v, %v, want 0644", info.Mode(), err)
	}
	if err := f.Abort(); err != nil {
		t.Errorf("Abort after Close: %v", err)
	}
	if err := f.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("second Close: %v, want ErrClosed", err)
	}
}

func TestAbort(t *testing.T) {
	dir, f := begin(t)
	for range 2 {
		if err := f.Abort(); err != nil {
			t.Error(err)
		}
	}
	if err := f.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Close after Abort: %v, want ErrClosed", err)
	}
	if diff := cmp.Diff(map[string]string{"name": "old"}, content(t, dir)); diff != "" {
		t.Errorf("after Abort (-want +got):\n%s", diff)
	}
}

// TestFailures checks that a failure leaves no temporary file.
func TestFailures(t *testing.T) {
	_, err := atomicfile.Create(filepath.Join(t.TempDir(), "none", "name"))
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Create in no folder: %v, want ErrNotExist", err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "name")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := atomicfile.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err == nil {
		t.Error("a folder was replaced")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v (%v), want nothing new", entries, err)
	}
}
