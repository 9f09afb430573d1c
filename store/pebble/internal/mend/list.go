package mend

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The list of tables consists of blocks, and these of chunks: the checksum of what follows the
// length (4 B), the length of the content (2 B), the kind (1 B), the content. No chunk goes over
// the end of a block.
const (
	listPrefix   = "MANIFEST-"
	chunkBlock   = 32 << 10
	lengthAt     = checksumBytes
	coveredAt    = lengthAt + 2
	chunkHeader  = coveredAt + 1
	bitsOfLength = 16
)

// openList returns a list of tables as a file in memory.
func (f *FS) openList(path string, file vfs.File) (vfs.File, error) {
	content, err := io.ReadAll(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	name, memory := f.PathBase(path), vfs.NewMem()
	for _, at := range mendChunks(content) {
		f.note(name, int64(at))
	}
	list, err := memory.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	_, err = list.Write(content)
	if err := errors.Join(err, list.Close()); err != nil {
		return nil, err
	}
	return memory.Open(name)
}

// mendChunks flips back the bit of each chunk that makes its checksum fit, and returns where they
// stand. It ends at the first chunk that no single bit makes whole.
func mendChunks(b []byte) (flipped []int) {
	for from := 0; from+chunkHeader <= len(b); {
		if room := chunkBlock - from%chunkBlock; room < chunkHeader {
			from += room
			continue
		}
		size, at, found := mendChunk(b[from:min(len(b), from-from%chunkBlock+chunkBlock)])
		if found {
			flipped = append(flipped, from+at)
		}
		if size == 0 {
			break
		}
		from += size
	}
	return flipped
}

// mendChunk mends the chunk in front of the rest of a block. Its size is 0 if it is not whole.
func mendChunk(b []byte) (size, at int, found bool) {
	length := binary.LittleEndian.Uint16(b[lengthAt:])
	block := blockOf(b, length)
	if block != nil && whole(block) {
		return chunkHeader + int(length), 0, false
	}
	for bit := range bitsOfLength { // which the checksum does not cover
		if other := blockOf(b, length^1<<bit); other != nil && whole(other) {
			binary.LittleEndian.PutUint16(b[lengthAt:], length^1<<bit)
			return chunkHeader + int(length^1<<bit), lengthAt + bit/8, true
		}
	}
	if block == nil {
		return 0, 0, false
	}
	if at, found = mendBlock(block); found {
		covered := copy(b[coveredAt:], block[:len(block)-checksumBytes])
		copy(b, block[covered:])
		if at += coveredAt; at >= coveredAt+covered { // of the checksum
			at -= coveredAt + covered
		}
		return chunkHeader + int(length), at, true
	}
	return 0, 0, false
}

// blockOf returns a chunk with content of a length as a block, with its checksum at the end; nil if
// it goes too far.
func blockOf(b []byte, length uint16) []byte {
	size := chunkHeader + int(length)
	if size > len(b) {
		return nil
	}
	return slices.Concat(b[coveredAt:size], b[:checksumBytes])
}
