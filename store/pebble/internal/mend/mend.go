// Package mend lets the storage engine read the folder of a damaged store: a flipped bit of a table
// or of the list of tables is flipped back in what is read, and a table that is cut off, gone or
// unreadable is an empty one. Nothing on disk is changed. It is for looking at a store and for
// saving what is left of it. A store that serves is not read through it: what a bit flip has
// harmed, another one may have too.
package mend

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// FS is a file system that mends the tables of the engine and their list. It is safe for concurrent
// use, but for the functions that leave tables out.
type FS struct {
	vfs.FS
	dir   string           // of the tables
	out   map[string]int64 // sizes of the tables that are left out, by name
	empty *emptyTable

	mu   sync.Mutex
	bits map[string]bool // that were flipped back, as "name at byte"
}

// New returns a file system that mends the tables in a folder.
func New(files vfs.FS, dir string) *FS {
	return &FS{FS: files, dir: dir, out: map[string]int64{}, bits: map[string]bool{}}
}

// Unwrap implements vfs.FS.
func (f *FS) Unwrap() vfs.FS { return f.FS }

// Bits is the number of bits that have been flipped back so far, each counted once.
func (f *FS) Bits() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.bits)
}

// note counts a bit that was flipped back.
func (f *FS) note(name string, at int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bits[fmt.Sprintf("%s at %d", name, at)] = true
}

// LeaveOut makes a table of a size an empty one.
func (f *FS) LeaveOut(name string, bytes int64) (err error) {
	if f.empty == nil {
		if f.empty, err = newEmptyTable(); err != nil {
			return err
		}
	}
	f.out[name] = bytes
	return nil
}

// LeftOut reports whether a table is left out.
func (f *FS) LeftOut(name string) bool { _, out := f.out[name]; return out }

// The engine compares the tables with its list of them when it is opened, and its error is the only
// place that says which size there should be.
var (
	gone = regexp.MustCompile(`L\d+: (\d{6,}): .*not exist`)
	cut  = regexp.MustCompile(`L\d+: (\d{6,}): object size mismatch .*: \d+ \(disk\) != (\d+) `)
)

// LeaveOutMissing leaves the tables out that are gone or cut off, by the error of opening the
// engine. It reports whether there were any that are not left out so far: another opening may tell
// more.
func (f *FS) LeaveOutMissing(opening error) (found bool, err error) {
	for line := range strings.Lines(opening.Error()) {
		name, bytes := "", int64(1) // another opening tells the size
		if match := cut.FindStringSubmatch(line); match != nil {
			name = match[1]
			if bytes, err = strconv.ParseInt(match[2], 10, 64); err != nil {
				return false, err
			}
		} else if match := gone.FindStringSubmatch(line); match != nil {
			name = match[1]
		}
		if name += ".sst"; name != ".sst" && f.out[name] != bytes {
			found = true
			if err := f.LeaveOut(name, bytes); err != nil {
				return false, err
			}
		}
	}
	return found, nil
}

// leftOut returns the size of a file that is left out.
func (f *FS) leftOut(path string) (bytes int64, out bool) {
	bytes, out = f.out[f.PathBase(path)]
	return bytes, out && f.PathDir(path) == f.dir
}

// List returns the names in a directory.
func (f *FS) List(dir string) ([]string, error) {
	names, err := f.FS.List(dir)
	if err != nil || dir != f.dir {
		return names, err
	}
	for name := range f.out {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// Stat returns what is known of a file.
func (f *FS) Stat(path string) (vfs.FileInfo, error) {
	if bytes, out := f.leftOut(path); out {
		return f.empty.info(bytes)
	}
	return f.FS.Stat(path)
}

// Open opens a file to read it.
func (f *FS) Open(path string, opts ...vfs.OpenOption) (vfs.File, error) {
	if bytes, out := f.leftOut(path); out {
		return f.empty.open(bytes)
	}
	file, err := f.FS.Open(path, opts...)
	if err == nil && strings.HasPrefix(f.PathBase(path), listPrefix) {
		return f.openList(path, file)
	}
	if err != nil || !strings.HasSuffix(path, ".sst") {
		return file, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &mended{file, f, f.PathBase(path), info.Size()}, nil
}

// mended is a table. The engine reads a block at a time, with its checksum, and the end of the file
// for the footer.
type mended struct {
	vfs.File
	of   *FS
	name string
	size int64
}

// ReadAt implements io.ReaderAt.
func (m *mended) ReadAt(p []byte, off int64) (n int, err error) {
	if n, err = m.File.ReadAt(p, off); n < len(p) {
		return n, err
	}
	at, found := 0, false
	if off+int64(n) == m.size {
		at, found = mendFooter(p)
	} else {
		at, found = mendBlock(p)
	}
	if found {
		m.of.note(m.name, off+int64(at))
	}
	return n, err
}

// emptyTable is a table without rows that can be of any size: there are zeroes in front of its
// footer, which says at which byte each block begins. Tables with rows are larger than it.
type emptyTable struct {
	files        *vfs.MemFS
	body, footer []byte
}

const emptyName = "empty"

func newEmptyTable() (*emptyTable, error) {
	t := &emptyTable{files: vfs.NewMem()}
	file, err := t.files.Create(emptyName, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	const format = sstable.TableFormatPebblev4 // whose footer is the same for any content
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(file),
		sstable.WriterOptions{TableFormat: format})
	if err := w.Close(); err != nil {
		return nil, err
	}
	written, err := t.files.Open(emptyName)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(written)
	if err := errors.Join(err, written.Close()); err != nil {
		return nil, err
	}
	body := len(content) - format.FooterSize()
	t.body, t.footer = content[:body], content[body:]
	return t, nil
}

func (t *emptyTable) info(bytes int64) (vfs.FileInfo, error) {
	info, err := t.files.Stat(emptyName)
	return sizedInfo{info, bytes}, err
}

func (t *emptyTable) open(bytes int64) (vfs.File, error) {
	file, err := t.files.Open(emptyName)
	return &emptyFile{file, t, bytes}, err
}

type sizedInfo struct {
	vfs.FileInfo
	bytes int64
}

// Size implements os.FileInfo.
func (i sizedInfo) Size() int64 { return i.bytes }

var _ os.FileInfo = sizedInfo{}

type emptyFile struct {
	vfs.File
	of    *emptyTable
	bytes int64
}

// Stat returns what is known of the file.
func (f *emptyFile) Stat() (vfs.FileInfo, error) { return f.of.info(f.bytes) }

// ReadAt implements io.ReaderAt.
func (f *emptyFile) ReadAt(p []byte, off int64) (n int, err error) {
	n = int(min(int64(len(p)), max(0, f.bytes-off)))
	clear(p[:n])
	if off < int64(len(f.of.body)) {
		copy(p[:n], f.of.body[off:])
	}
	if from := f.bytes - int64(len(f.of.footer)) - off; from >= 0 {
		if from < int64(n) {
			copy(p[from:n], f.of.footer)
		}
	} else {
		copy(p[:n], f.of.footer[min(-from, int64(len(f.of.footer))):])
	}
	if n < len(p) {
		err = io.EOF
	}
	return n, err
}
