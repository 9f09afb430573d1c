package table

import (
	"bytes"
	"errors"
	"slices"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A Span is a range of keys, from Lower on and below Upper. A nil Upper is the end of all keys.
type Span struct{ Lower, Upper []byte }

// maxKey is above the length of every key in bytes.
const maxKey = 1 << 10

// Keys calls fn with each key within a span, as far as the blocks that hold them are whole, and
// returns a span for each of the other blocks: from the key before the block to its end. An error
// of damage says that more than blocks of data is damaged: nothing is known then of any key.
func Keys(
	fs vfs.FS, path string, within Span, fn func(key []byte) error,
) (damaged []Span, err error) {
	r, err := open(fs, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // it was only read
	it, err := r.NewIter(block.NoTransforms, nil, within.Upper, sstable.AssertNoBlobHandles)
	if err != nil {
		return nil, err
	}
	defer func() { _ = it.Close() }() // its errors are those of it.Error
	last := slices.Clip(within.Lower)
	for {
		kv := it.SeekGE(last, 0)
		for ; kv != nil; kv = it.Next() {
			last = bytes.Clone(kv.K.UserKey)
			if err := fn(last); err != nil {
				return nil, err
			}
		}
		err := it.Error()
		if err == nil {
			return damaged, nil
		}
		if !lsm.IsCorruptionError(err) {
			return nil, err
		}
		span, err := blockAfter(r, last)
		if err != nil {
			return nil, err
		}
		damaged = append(damaged, span)
		if last = span.Upper; last == nil {
			return damaged, nil
		}
	}
}

// blockAfter returns the keys from the last one before a damaged block to its end.
func blockAfter(r *sstable.Reader, last []byte) (span Span, err error) {
	// The index alone says at which byte the block of a key ends.
	end := func(key []byte) (bytes uint64) {
		if err == nil {
			bytes, err = r.EstimateDiskUsage(nil, key, sstable.ReadEnv{})
		}
		return bytes
	}
	span.Lower = append([]byte{}, last...)
	it, err := r.NewIter(block.NoTransforms, nil, nil, sstable.AssertNoBlobHandles)
	if err != nil {
		return span, err
	}
	readable := it.SeekGE(last, 0) != nil // then the damaged block is the next one
	_ = it.Close()                        // it is asked again
	within := span.Lower
	if at := end(last); readable {
		within = first(func(key []byte) bool { return end(key) > at })
	}
	if at := end(within); err == nil {
		span.Upper = first(func(key []byte) bool { return end(key) > at })
	}
	if err == nil && within == nil {
		err = errors.New("a damaged block is not in the index of its table")
	}
	return span, err
}

// first returns the first key for which a condition holds that holds for all keys after it, or nil.
func first(holds func(key []byte) bool) []byte {
	top := bytes.Repeat([]byte{0xff}, maxKey)
	if !holds(top) {
		return nil
	}
	key := []byte{}
	for len(key) < maxKey && !holds(key) {
		low, high := 0, 255
		for low < high {
			middle := (low + high) / 2
			if holds(append(append(bytes.Clone(key), byte(middle)), top...)) {
				high = middle
			} else {
				low = middle + 1
			}
		}
		key = append(key, byte(low))
	}
	return key
}
