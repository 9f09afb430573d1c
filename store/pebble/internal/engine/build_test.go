package engine

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestBuildWithASlash: a name with a slash at its end, as shells complete it, is that of the folder.
func TestBuildWithASlash(t *testing.T) {
	fs := vfs.Default
	dir := t.TempDir() + "/new/"
	err := Build(fs, dir, func(building string) error {
		file, err := fs.Create(fs.PathJoin(building, "file"), vfs.WriteCategoryUnspecified)
		if err != nil {
			return err
		}
		return file.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	if names, err := fs.List(dir); err != nil || len(names) != 1 || names[0] != "file" {
		t.Errorf("the folder holds %v, %v", names, err)
	}
}
