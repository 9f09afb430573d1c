package atomicfile

import (
	"os"
	"path/filepath"
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
