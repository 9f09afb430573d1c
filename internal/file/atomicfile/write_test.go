package atomicfile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// TestWriteError loses the file under the writer: Close must not rename.
func TestWriteError(t *testing.T) {
	dir := t.TempDir()
	f := check.Get(Create(filepath.Join(dir, "name")))(t)
	check.Must(t, f.temp.Close())
	if _, err := f.Write([]byte("lost")); err == nil {
		t.Fatal("a write to a closed file succeeds")
	}
	check.Fails(t, f.Close(), os.ErrClosed, "Close")
	check.Same(t, 0, len(check.Get(os.ReadDir(dir))(t)), "files")
}

// A file by its renaming would replace a device such as /dev/null; a pipe stands for one here.
func TestCreateLeavesDevices(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pipe")
	check.Must(t, syscall.Mkfifo(path, 0o600))
	_, err := Create(path)
	check.Fails(t, err, ErrSpecial, "Create")
	check.Same(t, 1, len(check.Get(os.ReadDir(dir))(t)), "files")
}

// /dev/stdout is a link, and leads to a file in "> file".
func TestCreateLeavesFoldersOfDevices(t *testing.T) {
	dir := t.TempDir()
	folder, file := filepath.Join(dir, "folder"), filepath.Join(dir, "file")
	check.Must(t, os.Symlink("/dev", folder))
	check.Must(t, os.WriteFile(file, []byte("old"), 0o600))
	for _, path := range []string{"/dev/stdout", "/dev/none", filepath.Join(folder, "none")} {
		check.Same(t, true, amongDevices(path), "amongDevices(%s)", path)
	}
	for _, path := range []string{"/dev", "/development/none", file, "none"} {
		check.Same(t, false, amongDevices(path), "amongDevices(%s)", path)
	}
	if _, err := os.Stat("/dev/shm"); err == nil {
		check.Same(t, false, amongDevices("/dev/shm/none"), "amongDevices(/dev/shm/none)")
	}
	f, err := Create("/dev/none")
	if err == nil {
		_ = f.Abort()
	}
	check.Fails(t, err, ErrSpecial, "Create(/dev/none)")
	check.Says(t, err, "is in /dev or /proc", "Create(/dev/none)")

	link := filepath.Join(dir, "link")
	check.Must(t, os.Symlink(file, link))
	f = check.Get(Create(link))(t)
	check.Must(t, f.Close())
	check.Same(t, "old", string(check.Get(os.ReadFile(file))(t)), "the file behind a link")
}
