// Package linefile adds lines of JSON to the end of a file, and keeps the lines whole: through a
// kill, a full disk, and other programs that cut the file or move it away.
package linefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gsimc/gsimc/internal/file/atomicfile"
	"github.com/gsimc/gsimc/internal/file/lock"
)

// File is a file of lines. It is not safe for concurrent use.
type File struct {
	file *os.File
	size int64 // of the whole lines
	safe int64 // of the lines on the disk, at most size
}

// Open opens the file, which no other program may write to, or makes it, for its owner alone. If a
// kill has left half a line at its end, that is cut off. A file with another end is refused.
func Open(path string) (*File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	f := &File{file: file}
	if err := f.begin(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return f, nil
}

// begin takes the lock and ends the file with a whole line.
func (f *File) begin() error {
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &os.PathError{Op: "open", Path: f.file.Name(), Err: errNoFile}
	}
	if err := lock.Try(f.file); err != nil {
		return err
	}
	if f.size, err = wholeLines(f.file); err != nil {
		return err
	}
	if err := f.endLine(info.Size() - f.size); err != nil {
		return err
	}
	f.safe = f.size
	if f.size > 0 {
		return nil
	}
	path, err := filepath.EvalSymlinks(f.file.Name()) // the name may be new
	if err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(path))
}

var (
	errNoFile   = errors.New("is a device, pipe or socket")
	errOtherEnd = errors.New("its end is not half a line that was written here: end it with a " +
		"line feed, or choose another file")
)

// longest is the size of an end of a file above which it is no half of a line.
const longest = 64 << 20

// endLine ends a whole line that lacks its line feed, and cuts off half a line. left is what
// follows the last line feed.
func (f *File) endLine(left int64) error {
	if left == 0 {
		return nil
	}
	end := make([]byte, min(left, longest))
	if _, err := f.file.ReadAt(end, f.size); err != nil {
		return err
	}
	const start = `{"`
	control := func(r rune) bool { return r < ' ' }
	if left > longest || !bytes.HasPrefix(end, []byte(start[:min(left, int64(len(start)))])) ||
		bytes.ContainsFunc(end, control) {
		return fmt.Errorf("%s: %w", f.file.Name(), errOtherEnd)
	}
	if !json.Valid(end) {
		return f.file.Truncate(f.size)
	}
	_, err := f.file.WriteAt([]byte{'\n'}, f.size+left)
	f.size += left + 1
	return err
}

// wholeLines returns the number of bytes up to the last line feed.
func wholeLines(f *os.File) (int64, error) {
	end, err := f.Seek(0, io.SeekEnd)
	for buffer := make([]byte, 64<<10); err == nil && end > 0; {
		from := max(0, end-int64(len(buffer)))
		var n int
		if n, err = f.ReadAt(buffer[:end-from], from); err == nil {
			if i := bytes.LastIndexByte(buffer[:n], '\n'); i >= 0 {
				return from + int64(i) + 1, nil
			}
			end = from
		}
	}
	return 0, err
}

// Add adds lines, each with its line feed. They are safe after the next [File.Sync]. After an error
// all lines since the last Sync are gone. Where somebody has cut the file the lines follow its last
// whole line, and if it was moved away they are the first of a new file.
func (f *File) Add(lines []byte) error {
	if err := f.find(); err != nil {
		return err
	}
	if _, err := f.file.WriteAt(lines, f.size); err != nil {
		f.size = f.safe
		_ = f.file.Truncate(f.size) // or else find does
		return err
	}
	f.size += int64(len(lines))
	return nil
}

// find sees to it that the file ends with whole lines and stands under its name.
func (f *File) find() error {
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	there, err := os.Stat(f.file.Name())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil || !os.SameFile(there, info) {
		return f.anew()
	}
	if info.Size() < f.size {
		if f.size, err = wholeLines(f.file); err != nil {
			return err
		}
		f.safe = min(f.safe, f.size)
	}
	if info.Size() > f.size {
		return f.file.Truncate(f.size)
	}
	return nil
}

// anew makes the file again.
func (f *File) anew() error {
	if err := f.Sync(); err != nil {
		return err
	}
	other, err := Open(f.file.Name())
	if err != nil {
		return err
	}
	_ = f.Close()
	*f = *other
	return nil
}

// Sync has all lines on the disk. After an error the lines since the last Sync are gone.
func (f *File) Sync() error {
	if err := f.file.Sync(); err != nil {
		f.size = f.safe // find cuts the rest off
		return err
	}
	f.safe = f.size
	return nil
}

// Close ends the writing and gives the lock back.
func (f *File) Close() error { return f.file.Close() }
