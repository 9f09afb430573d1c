package atomicfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/file/atomicfile"
	"github.com/gsimc/gsimc/internal/test/check"
)

// content returns the files of the folder by name.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries := check.Get(os.ReadDir(dir))(t)
	files := map[string]string{}
	for _, e := range entries {
		b := check.Get(os.ReadFile(filepath.Join(dir, e.Name())))(t)
		files[e.Name()] = string(b)
	}
	return files
}

// begin starts to replace a file "name" that holds "old", and writes "new" to it.
func begin(t *testing.T) (dir string, f *atomicfile.File) {
	t.Helper()
	dir = t.TempDir()
	path := filepath.Join(dir, "name")
	check.Must(t, os.WriteFile(path, []byte("old"), 0o600))
	f = check.Get(atomicfile.Create(path))(t)
	check.Get(f.Write([]byte("new")))(t)
	return dir, f
}

func TestClose(t *testing.T) {
	dir, f := begin(t)
	if got := content(t, dir); got["name"] != "old" || len(got) != 2 {
		t.Errorf("before Close the folder holds %v, want the old file and a temporary one", got)
	}
	check.Must(t, f.Close())
	check.Same(t, map[string]string{"name": "new"}, content(t, dir), "after Close")
	check.Same(t, os.FileMode(0o644), check.Get(os.Stat(filepath.Join(dir, "name")))(t).Mode(),
		"the mode")
	check.Pass(t, f.Abort(), "Abort after Close")
	check.Fails(t, f.Close(), os.ErrClosed, "second Close")
}

func TestAbort(t *testing.T) {
	dir, f := begin(t)
	for range 2 {
		check.Pass(t, f.Abort(), "Abort")
	}
	check.Fails(t, f.Close(), os.ErrClosed, "Close after Abort")
	check.Same(t, map[string]string{"name": "old"}, content(t, dir), "after Abort")
}

// Sweep takes what a killed process has left, and nothing else.
func TestSweep(t *testing.T) {
	dir, _ := begin(t)
	other := filepath.Join(dir, ".name.of.another.1.tmp")
	check.Must(t, os.WriteFile(other, []byte("other"), 0o600))
	atomicfile.Sweep(filepath.Join(dir, "name"))
	check.Same(t, map[string]string{"name": "old", ".name.of.another.1.tmp": "other"},
		content(t, dir), "after Sweep")
	atomicfile.Sweep(filepath.Join(dir, "none", "name"))
	t.Chdir(dir)
	f := check.Get(atomicfile.Create("name"))(t)
	atomicfile.Sweep("name")
	check.Fails(t, f.Close(), fs.ErrNotExist, "Close without the temporary file")
}

// TestSweepOlder: what others may be writing stays.
func TestSweepOlder(t *testing.T) {
	dir, f := begin(t)
	for name, age := range map[string]time.Duration{"1": 30 * time.Second, "2": 2 * time.Minute} {
		path, at := filepath.Join(dir, ".name."+name+".tmp"), time.Now().Add(-age)
		check.Must(t, os.WriteFile(path, []byte(name), 0o600))
		check.Must(t, os.Chtimes(path, at, at))
	}
	f.SweepOlder(time.Minute)
	check.Must(t, f.Close())
	check.Same(t, map[string]string{"name": "new", ".name.1.tmp": "1"}, content(t, dir), "files")
	f.SweepOlder(0) // of a file that is complete: nothing
}

// TestFailures checks that a failure leaves no temporary file.
func TestFailures(t *testing.T) {
	_, err := atomicfile.Create(filepath.Join(t.TempDir(), "none", "name"))
	check.Fails(t, err, fs.ErrNotExist, "Create in no folder")
	dir := t.TempDir()
	path := filepath.Join(dir, "name")
	check.Must(t, os.MkdirAll(filepath.Join(path, "full"), 0o755))
	f := check.Get(atomicfile.Create(path))(t)
	if err := f.Close(); err == nil {
		t.Error("a folder was replaced")
	}
	check.Same(t, 1, len(check.Get(os.ReadDir(dir))(t)), "files of the folder")
}
