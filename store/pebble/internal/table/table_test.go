package table

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store/pebble/internal/smallfile"
)

// counting counts the files that are open.
type counting struct {
	vfs.FS
	open int
}

func (c *counting) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	file, err := c.FS.Open(name, opts...)
	if err == nil {
		c.open++
		file = &counted{file, c}
	}
	return file, err
}

type counted struct {
	vfs.File
	of *counting
}

func (f *counted) Close() error {
	f.of.open--
	return f.File.Close()
}

// TestWholeClosesFiles looks at files that are no tables.
func TestWholeClosesFiles(t *testing.T) {
	for _, content := range []string{"", "short", string(make([]byte, 4096))} {
		fs := &counting{FS: vfs.NewMem()}
		check.Must(t, smallfile.Replace(fs, "", "000001.sst", []byte(content)))
		if err := Whole(fs, "000001.sst"); err == nil {
			t.Errorf("a file of %d bytes is whole", len(content))
		}
		check.Same(t, 0, fs.open, "open files after one of %d bytes", len(content))
	}
}
