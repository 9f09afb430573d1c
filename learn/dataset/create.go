package dataset

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/gsimc/gsimc/internal/file/atomicfile"
)

// File is a file being written. It gets its name only when it is complete:
// Close renames a temporary file of the same folder, Abort removes it.
type File struct {
	path    string
	out     *atomicfile.File
	buffer  *bufio.Writer  // into out
	packer  io.WriteCloser // compresses into buffer, nil: plain
	written error          // first error of Write
	done    bool
}

// Create starts the file at path. It is compressed with gzip if its name ends
// in .gz and with zstd if it ends in .zst, at the fastest level of either. An
// existing file is replaced by Close, not before.
func Create(path string) (*File, error) {
	out, err := atomicfile.Create(path)
	if err != nil {
		return nil, err
	}
	f := &File{path: path, out: out, buffer: bufio.NewWriterSize(out, 256<<10)}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".gz":
		f.packer, err = gzip.NewWriterLevel(f.buffer, gzip.BestSpeed)
	case ".zst":
		f.packer, err = zstd.NewWriter(f.buffer, zstd.WithEncoderLevel(zstd.SpeedFastest))
	}
	if err != nil {
		return nil, errors.Join(err, f.Abort())
	}
	return f, nil
}

// Write implements io.Writer. After an error Close fails and leaves no file.
func (f *File) Write(p []byte) (int, error) {
	w := io.Writer(f.buffer)
	if f.packer != nil {
		w = f.packer
	}
	n, err := w.Write(p)
	if err != nil && f.written == nil {
		f.written = err
	}
	return n, err
}

// Close completes the file, durably, and gives it its name. If anything went wrong, now
// or in a Write before, there is no new file and an old one stays as it was.
func (f *File) Close() error {
	if f.done {
		return os.ErrClosed
	}
	err := f.written
	if err == nil && f.packer != nil {
		err = f.packer.Close()
	}
	if err == nil {
		err = f.buffer.Flush()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", f.path, err), f.Abort())
	}
	f.done = true
	if err := f.out.Close(); err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	return nil
}

// Abort removes what was written. After Close it does nothing, so that it can
// be deferred.
func (f *File) Abort() error {
	if f.done {
		return nil
	}
	f.done = true
	if z, ok := f.packer.(*zstd.Encoder); ok {
		z.Reset(nil) // lets go of the encoder's goroutines
	}
	return f.out.Abort()
}
