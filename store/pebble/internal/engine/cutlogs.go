package engine

import (
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// CutLogs returns a file system in which each log of the engine in the directory ends before its
// first damaged record. The engine refuses a log in which something whole stands behind damage.
func CutLogs(fs vfs.FS, dir string) (vfs.FS, error) {
	logs, err := wal.Scan(wal.Dir{FS: fs, Dirname: fs.PathJoin(dir, DataName)})
	if err != nil {
		return nil, err
	}
	cut := cutFS{fs, map[string]int64{}}
	for _, log := range logs {
		if err := cut.add(log); err != nil {
			return nil, err
		}
	}
	return cut, nil
}

// cutFS is a file system in which some files end early.
type cutFS struct {
	vfs.FS
	ends map[string]int64 // by path
}

// Unwrap implements vfs.FS.
func (f cutFS) Unwrap() vfs.FS { return f.FS }

// add notes where the whole part of a log ends.
func (f cutFS) add(log wal.LogicalLog) error {
	r := log.OpenForRead()
	for {
		_, at, err := r.NextRecord()
		if err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) {
			f.ends[at.PhysicalFile] = at.Physical
		}
		return r.Close()
	}
}

// Open opens a file to read it.
func (f cutFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.Open(name, opts...)
	end, cut := f.ends[name]
	if err != nil || !cut {
		return file, err
	}
	return &cutFile{file, io.LimitReader(file, end)}, nil
}

// cutFile is a file that ends early, for those who read it from its beginning.
type cutFile struct {
	vfs.File
	part io.Reader
}

// Read implements io.Reader.
func (f *cutFile) Read(p []byte) (int, error) { return f.part.Read(p) }
