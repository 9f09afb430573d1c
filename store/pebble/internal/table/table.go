// Package table looks at a table of the storage engine as a file by itself: at the checksum of each
// block, and at the keys that a damaged block stands for. It knows nothing of rows.
package table

import (
	"context"

	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Whole returns an error if any block of a table is damaged, or cannot be read.
func Whole(fs vfs.FS, path string) error {
	r, err := open(fs, path)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was only read
	return r.ValidateBlockChecksums()
}

// Readable returns an error if nothing can be known of the rows of a table, since it is not damaged
// in blocks of data alone.
func Readable(fs vfs.FS, path string) error {
	r, err := open(fs, path)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was only read
	if _, err := r.Layout(); err != nil {
		return err
	}
	removed, err := r.NewRawRangeDelIter(context.Background(), block.NoFragmentTransforms,
		sstable.NoReadEnv)
	if removed != nil {
		removed.Close()
	}
	return err
}

func open(fs vfs.FS, path string) (*sstable.Reader, error) {
	file, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	readable, err := sstable.NewSimpleReadable(file)
	if err != nil {
		_ = file.Close() // it was only read
		return nil, err
	}
	r, err := sstable.NewReader(context.Background(), readable, sstable.ReaderOptions{})
	if err != nil {
		_ = readable.Close() // it was only read
		return nil, err
	}
	return r, nil
}
