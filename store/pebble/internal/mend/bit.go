package mend

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
)

const (
	checksumBytes = 4
	// maskDelta is what Pebble adds to a rotated checksum, so that data which holds checksums has
	// one of another kind.
	maskDelta = 0xa282ead8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func masked(crc uint32) uint32   { return bits.RotateLeft32(crc, 17) + maskDelta }
func unmasked(crc uint32) uint32 { return bits.RotateLeft32(crc-maskDelta, -17) }

// whole reports whether the checksum at the end of a block fits.
func whole(b []byte) bool {
	body := len(b) - checksumBytes
	return body > 0 &&
		binary.LittleEndian.Uint32(b[body:]) == masked(crc32.Checksum(b[:body], castagnoli))
}

// mendBlock flips back the one bit of a block, as it is on disk with its checksum at the end, that
// makes the checksum fit, and returns where it stands. found is false if the checksum fits as it
// is, or if no single bit makes it fit: the block is then left as it is.
//
// A checksum is linear: two contents of a length that differ in one bit have checksums that differ
// by a number that the distance of the bit from the end alone says. These numbers are walked
// through from the end on. They are all different, so that there is at most one such bit; a block
// with more flipped bits is mended wrongly once in 2^32 for each of its bits, and then fails the
// checksums of its rows.
func mendBlock(b []byte) (at int, found bool) {
	body := len(b) - checksumBytes
	if body <= 0 {
		return 0, false
	}
	crc := crc32.Checksum(b[:body], castagnoli)
	stored := binary.LittleEndian.Uint32(b[body:])
	if stored == masked(crc) {
		return 0, false
	}
	if other := stored ^ masked(crc); bits.OnesCount32(other) == 1 { // of the checksum itself
		binary.LittleEndian.PutUint32(b[body:], masked(crc))
		return body + bits.TrailingZeros32(other)/8, true
	}
	want := crc ^ unmasked(stored)
	var differences [8]uint32
	for bit := range differences {
		differences[bit] = castagnoli[1<<bit]
	}
	for at = body - 1; at >= 0; at-- {
		for bit, d := range differences {
			if d == want {
				b[at] ^= 1 << bit
				return at, true
			}
			differences[bit] = castagnoli[byte(d)] ^ d>>8
		}
	}
	return 0, false
}

// The footer of a table ends in its checksum, the version of its format (4 B) and a magic number.
// It is shorter in older versions, and has no checksum before firstChecked.
const (
	magic         = "\xf0\x9f\xaa\xb3\xf0\x9f\xaa\xb3"
	tailBytes     = checksumBytes + 4 + len(magic)
	firstChecked  = 6
	checkedFooter = 1 + 2*2*binary.MaxVarintLen64 + tailBytes
	newestFooter  = checkedFooter + 4 // attributes, from version 7 on
)

// mendFooter is mendBlock for what ends in the footer of a table.
func mendFooter(b []byte) (at int, found bool) {
	if footerWhole(b) {
		return 0, false
	}
	for at := len(b) - 1; at >= max(0, len(b)-newestFooter); at-- {
		for bit := range 8 {
			if b[at] ^= 1 << bit; footerWhole(b) {
				return at, true
			}
			b[at] ^= 1 << bit
		}
	}
	return 0, false
}

func footerWhole(b []byte) bool {
	tail := len(b) - tailBytes
	if tail < 0 || string(b[len(b)-len(magic):]) != magic {
		return false
	}
	size := newestFooter
	switch version := binary.LittleEndian.Uint32(b[tail+checksumBytes:]); {
	case version < firstChecked:
		return false
	case version == firstChecked:
		size = checkedFooter
	}
	if len(b) < size {
		return false
	}
	crc := crc32.Checksum(b[len(b)-size:tail], castagnoli)
	crc = crc32.Update(crc, castagnoli, b[tail+checksumBytes:])
	return binary.LittleEndian.Uint32(b[tail:]) == masked(crc)
}
