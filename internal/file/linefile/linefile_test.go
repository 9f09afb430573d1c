package linefile

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

func content(t *testing.T, path string) string {
	t.Helper()
	return string(check.Get(os.ReadFile(path))(t))
}

// add adds lines and syncs them.
func add(t *testing.T, f *File, lines string) {
	t.Helper()
	check.Must(t, f.Add([]byte(lines)))
	check.Must(t, f.Sync())
}

// Half a line is cut off at the start, be it as long as it may; another end is refused, and stays.
func TestOpen(t *testing.T) {
	long := `{"` + strings.Repeat("x", 200<<10) // more than a block from the end
	for name, c := range map[string]struct{ has, want, problem string }{
		"no file":            {want: "new\n"},
		"whole lines":        {has: "{}\n{}\n", want: "{}\n{}\nnew\n"},
		"half a line":        {has: `{"user_id":"an`, want: "new\n"},
		"a byte of it":       {has: "{}\n{", want: "{}\nnew\n"},
		"no last line feed":  {has: "{}\n{\"a\":1}", want: "{}\n{\"a\":1}\nnew\n"},
		"much of it":         {has: "{}\n" + long, want: "{}\nnew\n"},
		"a table":            {has: "user,item\nann,7", problem: "line feed"},
		"an array":           {has: "{}\n[1]", problem: "line feed"},
		"bytes of a program": {has: "{}\n{\"\x00\x01", problem: "line feed"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			if c.has != "" {
				check.Must(t, os.WriteFile(path, []byte(c.has), 0o644))
			}
			f, err := Open(path)
			if c.problem != "" {
				check.Says(t, err, c.problem, "Open")
				check.Same(t, c.has, content(t, path), "the refused file")
				return
			}
			check.Must(t, err)
			add(t, f, "new\n")
			check.Same(t, c.want, content(t, path), "the file")
			check.Must(t, f.Close())
		})
	}
	check.Fails(t, check.Err(Open(os.DevNull)), errNoFile, "Open of a device")
}

// One file has one writer; others cut it or move it away, and each line stays whole.
func TestAdd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f := check.Get(Open(path))(t)
	check.Says(t, check.Err(Open(path)), "another program", "a second Open")
	add(t, f, "one\ntwo\n")
	check.Must(t, os.Truncate(path, 4)) // somebody has taken lines away
	add(t, f, "three\n")
	check.Same(t, "one\nthree\n", content(t, path), "behind a shorter end")
	check.Must(t, os.Truncate(path, 9))
	add(t, f, "4\n")
	check.Same(t, "one\n4\n", content(t, path), "in place of half a line")
	check.Must(t, os.Rename(path, path+".1"))
	add(t, f, "five\n")
	check.Same(t, "five\n", content(t, path), "in place of a file that was moved")
	check.Must(t, check.Get(Open(path+".1"))(t).Close())
	check.Must(t, f.Close())
	add(t, check.Get(Open(path))(t), "six\n")
	check.Same(t, "five\nsix\n", content(t, path), "of two runs")
}

// Of lines that could not be added or synced nothing is left when the next are added.
func TestAddFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f := check.Get(Open(path))(t)
	add(t, f, "one\n")
	whole := f.file
	check.Must(t, f.Add([]byte("unsafe\n")))
	f.file = check.Get(os.Open(path))(t)
	if f.Add([]byte("two\n")) == nil {
		t.Error("a file that is open for reading took a line")
	}
	f.file = whole
	check.Must(t, os.WriteFile(path, bytes.Repeat([]byte("one\n"), 9), 0o600)) // as a full disk may
	add(t, f, "three\n")
	check.Same(t, "one\nthree\n", content(t, path), "after lines that were cut short")

	check.Must(t, os.Truncate(path, 4))
	check.Must(t, f.Add([]byte("four\n")))
	_, pipe, err := os.Pipe()
	check.Must(t, err)
	f.file = pipe
	if f.Sync() == nil {
		t.Error("a pipe was synced")
	}
	f.file = whole
	add(t, f, "five\n")
	check.Same(t, "one\nfive\n", content(t, path), "after an error of Sync")
}
