// Package mark keeps a small file beside the storage engine that says which store it belongs to and
// how many commits of it are known to be durable.
//
// The engine takes damage at the end of its newest log for a write that a crash cut off, and a
// folder that is missing for a store that was never there. The mark stands outside of the engine,
// so that an opening can tell: a store that has fewer commits than its mark has lost some.
//
// # What is true
//
// The mark runs behind what is durable and never ahead, so that a crash, or a loss of power, is
// never taken for a loss. It is at most [Interval], and the time of two syncs, behind. What is lost
// of the commits of that time is not noticed.
//
// # On disk
//
// Two slots that are written by turns, each with a checksum and in a block of its own, so that a
// write that is cut off leaves the other:
//
//	| "GSMK" | version 1 (4 B) | store id (16 B) | turn (8 B) | commit (8 B)
//	| Unix time in ns (8 B) | CRC | users (8 B) | CRC |
//
// Numbers are little endian; a CRC-32C (4 B) is that of all bytes before it but the other one, with
// which it would be the same for all of them. Programs that know nothing of users write and read a
// slot up to the first CRC: what stands behind it then does not fit, and the number of users is not
// known.
package mark

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/smallfile"
)

// Name is the name of the file, in the folder of the store.
const Name = "MARK"

const (
	magic     = "GSMK"
	version   = 1
	slotBytes = 4 + 4 + 16 + 8 + 8 + 8 + 4
	userBytes = 8 + 4 // behind it
	slotPlace = 4096  // distance of the slots: a block
)

// ErrDamaged is wrapped by the error of reading a file without a whole slot.
var ErrDamaged = errors.New("the file " + Name + " is damaged")

// ID tells stores apart, and is the key of session tokens: it stands in the files of the store and
// is shown nowhere. The zero ID is that of no store.
type ID [16]byte

// NewID returns a random id.
func NewID() (id ID) {
	_, _ = rand.Read(id[:]) // never fails
	return id
}

// String returns the name of the store, which does not give the id away.
func (id ID) String() string { return store.Identity{ID: id}.Name() }

// Mark is what the file says.
type Mark struct {
	// ID is that of the store. It also stands in the engine.
	ID ID
	// Commit is the number of the last commit that is known to be durable; 0: none.
	Commit uint64
	// Users is the number of users with events as of that commit; negative: not known.
	Users int64
	// At is when that was written.
	At time.Time
}

func (m Mark) encode(turn uint64) []byte {
	b := append(make([]byte, 0, slotBytes+userBytes), magic...)
	b = binary.LittleEndian.AppendUint32(b, version)
	b = append(b, m.ID[:]...)
	b = binary.LittleEndian.AppendUint64(b, turn)
	b = binary.LittleEndian.AppendUint64(b, m.Commit)
	b = binary.LittleEndian.AppendUint64(b, uint64(m.At.UnixNano()))
	b = binary.LittleEndian.AppendUint32(b, checksum(b))
	b = binary.LittleEndian.AppendUint64(b, uint64(m.Users))
	return binary.LittleEndian.AppendUint32(b, userChecksum(b))
}

// decode returns the mark in a slot, if that is whole.
func decode(b []byte) (m Mark, turn uint64, ok bool) {
	if len(b) < slotBytes || string(b[:4]) != magic ||
		binary.LittleEndian.Uint32(b[4:]) != version ||
		binary.LittleEndian.Uint32(b[slotBytes-4:]) != checksum(b[:slotBytes-4]) {
		return Mark{}, 0, false
	}
	copy(m.ID[:], b[8:24])
	m.Commit = binary.LittleEndian.Uint64(b[32:])
	m.At = time.Unix(0, int64(binary.LittleEndian.Uint64(b[40:]))).UTC()
	m.Users = -1
	const end = slotBytes + userBytes
	if len(b) >= end && binary.LittleEndian.Uint32(b[end-4:]) == userChecksum(b) {
		m.Users = int64(binary.LittleEndian.Uint64(b[slotBytes:]))
	}
	return m, binary.LittleEndian.Uint64(b[24:]), true
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// userChecksum is that of a slot up to the number of users.
func userChecksum(b []byte) uint32 {
	return crc32.Update(checksum(b[:slotBytes-4]), castagnoli, b[slotBytes:slotBytes+8])
}

// Read returns the mark in the folder of a store. found is false if there is no file. The error of
// a file without a whole slot wraps [ErrDamaged].
func Read(fs vfs.FS, dir string) (m Mark, found bool, err error) {
	m, _, found, err = read(fs, dir)
	return m, found, err
}

func read(fs vfs.FS, dir string) (m Mark, turn uint64, found bool, err error) {
	names, err := fs.List(dir)
	if err != nil || !slices.Contains(names, Name) {
		return Mark{}, 0, false, err
	}
	content, err := smallfile.Read(fs, fs.PathJoin(dir, Name))
	if err != nil {
		return Mark{}, 0, false, fmt.Errorf("reading %s: %w", Name, err)
	}
	for _, at := range []int{0, slotPlace} {
		if at > len(content) {
			continue
		}
		if slot, t, ok := decode(content[at:]); ok && (!found || t > turn) {
			m, turn, found = slot, t, true
		}
	}
	if !found {
		return Mark{}, 0, false, ErrDamaged
	}
	return m, turn, true, nil
}

// Write puts a file with the mark into the folder, in place of one that is there. After a crash
// there is the old one or the new one.
func Write(fs vfs.FS, dir string, m Mark) error {
	content := make([]byte, 2*slotPlace) // later slots change blocks that the file has
	copy(content, m.encode(1))
	copy(content[slotPlace:], m.encode(0))
	return smallfile.Replace(fs, dir, Name, content)
}
