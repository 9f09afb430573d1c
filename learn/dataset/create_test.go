package dataset

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/gsimc/gsimc/internal/test/check"
)

// TestCreate gives the writing of a file up, and exchanges it: nothing is there but the old text or
// the new one.
func TestCreate(t *testing.T) {
	text := strings.Repeat("some text that packs well\n", 10_000)
	for name, compression := range map[string]string{"a.csv": "none", "a.csv.gz": "gzip",
		"a.csv.zst": "zstd"} {
		path := writeFile(t, name, []byte("old"))
		wantOld := func(when string) {
			t.Helper()
			check.Same(t, "old", string(check.Get(os.ReadFile(path))(t)),
				"%s: %s: the old file", name, when)
		}
		begin := func() *File {
			f := check.Get(Create(path))(t)
			check.Get(io.WriteString(f, text))(t)
			wantOld("before Close")
			return f
		}
		f := begin()
		check.Must(t, f.Abort())
		if err := f.Close(); err == nil {
			t.Errorf("%s: Close after Abort must fail", name)
		}
		onlyFile(t, path)
		wantOld("after Abort")
		f = begin()
		check.Must(t, f.Close())
		check.Must(t, f.Abort())
		check.Same(t, text, string(unpack(t, compression, path)), "%s: %s", name, compression)
		onlyFile(t, path)
	}
	if _, err := Create(filepath.Join(t.TempDir(), "absent", "a.csv")); err == nil {
		t.Error("no error for a folder that does not exist")
	}
}

// TestCreateWriteError loses the file under the writer: Close must not rename.
func TestCreateWriteError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csv")
	f := check.Get(Create(path))(t)
	check.Must(t, f.out.Abort())
	io.WriteString(f, strings.Repeat("x", 1<<20))
	if err := f.Close(); err == nil {
		t.Error("no error from Close after a failed write")
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("a file that could not be written is there: %v", err)
	}
}

// onlyFile fails the test if the folder of path holds anything else.
func onlyFile(t *testing.T, path string) {
	t.Helper()
	entries := check.Get(os.ReadDir(filepath.Dir(path)))(t)
	if len(entries) != 1 || entries[0].Name() != filepath.Base(path) {
		t.Errorf("left in the folder: %v", entries)
	}
}

// unpack returns what a file of a compression holds.
func unpack(t *testing.T, compression, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	check.Must(t, err)
	defer f.Close()
	var text io.Reader = f
	switch compression {
	case "gzip":
		text, err = gzip.NewReader(f)
	case "zstd":
		text, err = zstd.NewReader(f)
	}
	check.Must(t, err)
	return check.Get(io.ReadAll(text))(t)
}
