package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store/pebble/internal/smallfile"
)

// TestBuildWithASlash: a name with a slash at its end, as shells complete it, is that of the folder.
func TestBuildWithASlash(t *testing.T) {
	fs := vfs.Default
	dir := t.TempDir() + "/new/"
	check.Must(t, Build(fs, dir, func(building string) error {
		return smallfile.Replace(fs, building, "file", nil)
	}))
	if names, err := fs.List(dir); err != nil || len(names) != 1 || names[0] != "file" {
		t.Errorf("the folder holds %v, %v", names, err)
	}
}

// TestBuildTwice: a directory that is being built is not built by another one, which is refused and
// disturbs nothing. What a run left that was cut off holds nobody up.
func TestBuildTwice(t *testing.T) {
	for name, fs := range map[string]vfs.FS{"disk": vfs.Default, "memory": vfs.NewMem()} {
		t.Run(name, func(t *testing.T) {
			dir := fs.PathJoin(t.TempDir(), "new")
			left := fs.PathJoin(dir+unfinished, contentDir)
			check.Must(t, fs.MkdirAll(left, 0o700))
			mustCreate(t, fs, fs.PathJoin(left, "left"))
			mustCreate(t, fs, fs.PathJoin(dir+unfinished, LockName))
			never := func(string) error { t.Error("a second one builds"); return nil }
			check.Must(t, Build(fs, dir, func(building string) error {
				mustCreate(t, fs, fs.PathJoin(building, "first"))
				err := Build(fs, dir, never)
				if err == nil || !strings.Contains(err.Error(), "another run") ||
					!strings.Contains(err.Error(), dir) {
					t.Errorf("the second one: %v", err)
				}
				return Build(fs, dir+"-too", func(string) error { return nil })
			}))
			names, err := fs.List(dir)
			if err != nil || len(names) != 1 || names[0] != "first" {
				t.Errorf("the folder holds %v, %v", names, err)
			}
			if _, err := fs.Stat(dir + unfinished); err == nil {
				t.Error("the place of the building is there")
			}
			failed := errors.New("failed")
			for range 2 {
				err := Build(fs, dir+"-never", func(string) error { return failed })
				check.Fails(t, err, failed, "Build")
			}
		})
	}
}

func mustCreate(t *testing.T, fs vfs.FS, name string) {
	t.Helper()
	check.Must(t, smallfile.Replace(fs, fs.PathDir(name), fs.PathBase(name), nil))
}
