package pebble

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/gsimc/gsimc/store"
)

// The journal holds the newest events in the order of their arrival, many in a row, until the sorter writes them to the rows
// of their users. So a write costs one insertion at the end of the engine's memory instead of several in the middle, and
// several events of a user become one row.
//
// The entries of its rows:
//
//	| 1 | user id with its length (uvarint) in front | revision (uvarint) | event |
//	| 2 | user id with its length in front |                                        the user was erased
const (
	entryEvent = 1
	entryErase = 2
)

const (
	// blockBytes is the size of the pieces in which the journal's rows are kept in memory.
	blockBytes = 1 << 20
	// sortBytes is the size of the journal in memory at which sorting begins. Writers wait when there is twice as much.
	sortBytes = 16 << 20
	// maxBlocks bounds the blocks of a generation, some of which may be nearly empty, before the call that is its last. What that
	// call needs beyond, be it large, it finds in spareBlocks further ones, each twice as large as the one before.
	maxBlocks   = 4 * sortBytes / blockBytes
	spareBlocks = 12
)

// generation is the part of the journal that is sorted at once, in memory. The committer fills it; then it does not change.
type generation struct {
	parity int
	blocks [][]byte // rows, with their full capacity; an element is written before anybody is told a place in it
	used   int      // blocks
	bytes  int
	last   uint64     // number of the last row
	dirty  []*history // histories with events in this generation, some of them twice
}

func newGeneration(parity int) *generation {
	return &generation{parity: parity, blocks: make([][]byte, maxBlocks+spareBlocks)}
}

// full reports whether the generation must be sorted before it can take more.
func (g *generation) full(limit int) bool { return g.bytes >= limit || g.used >= maxBlocks }

// place says where an event stands in the blocks of its generation: the block and the offset of the event.
type place uint64

// event returns the encoded event, without its length.
func (g *generation) event(p place) []byte {
	b := g.blocks[p>>32][uint32(p):]
	size, n := binary.Uvarint(b)
	return b[n : n+int(size)]
}

// generations are the one that is being filled and the one that is being sorted, by parity. Readers load one while they
// hold the lock of a history that has places in it.
type generations [2]atomic.Pointer[generation]

// journalRow is a row that is not yet in the engine.
type journalRow struct {
	number uint64
	value  []byte
}

// writer puts rows of the journal together in the blocks of a generation. It belongs to the committer.
type writer struct {
	gen   *generation
	block []byte // the open block, up to what is written
	start int    // of the open row in it
	rows  []journalRow
	next  uint64 // number of the next row
	key   []byte
}

// mark is a point to which the writer can go back.
type mark struct {
	rows, length, start, used, bytes, dirty int
	next                                    uint64
	block                                   []byte
}

func (w *writer) mark() mark {
	return mark{
		rows: len(w.rows), length: len(w.block), start: w.start, used: w.gen.used, bytes: w.gen.bytes, dirty: len(w.gen.dirty),
		next: w.next, block: w.block,
	}
}

// back takes back what was written since the mark. Nobody has been told a place in it.
func (w *writer) back(m mark) {
	w.rows, w.next = w.rows[:m.rows], m.next
	w.block, w.start, w.gen.used, w.gen.bytes = m.block[:m.length], m.start, m.used, m.bytes
	clear(w.gen.dirty[m.dirty:])
	w.gen.dirty = w.gen.dirty[:m.dirty]
}

// reserve makes room for an entry.
func (w *writer) reserve(size int) {
	if cap(w.block)-len(w.block) < size+crcBytes {
		w.closeRow()
		block := make([]byte, max(blockBytes<<max(0, w.gen.used-maxBlocks), size+crcBytes+1))
		w.gen.blocks[w.gen.used] = block
		w.gen.used++
		w.block, w.start = block[:0], 0
	}
	if len(w.block) == w.start {
		w.block = append(w.block, journalVersion)
	}
}

const crcBytes = 4

// closeRow ends the open row, if there is anything in it.
func (w *writer) closeRow() {
	if len(w.block) <= w.start+1 {
		w.block = w.block[:w.start]
		return
	}
	w.key = journalKey(w.key, w.next)
	w.block = binary.LittleEndian.AppendUint32(w.block, checksum(w.key, w.block[w.start:]))
	w.rows = append(w.rows, journalRow{w.next, w.block[w.start:]})
	w.gen.bytes += len(w.block) - w.start
	w.start = len(w.block)
	w.next++
}

// event writes an entry and returns its place.
func (w *writer) event(user string, revision uint64, e *store.Event) place {
	w.reserve(16 + len(user) + maxEventBytes(e))
	b := append(w.block, entryEvent)
	b = binary.AppendUvarint(appendString(b, user), revision)
	at := place(w.gen.used-1)<<32 | place(len(b))
	w.block = appendEvent(b, e)
	return at
}

// erase writes the entry of an erasure.
func (w *writer) erase(user string) {
	w.reserve(4 + len(user))
	w.block = appendString(append(w.block, entryErase), user)
}

// begin lets the writer fill another generation. There must be no open row.
func (w *writer) begin(g *generation) {
	w.gen, w.block, w.start = g, nil, 0
}

var errEntry = errors.New("unknown entry")

// readJournal calls fn for each entry of a row: with the revision and the offset of the event in the value, or with revision
// 0 for an erasure.
func readJournal(key, value []byte, fn func(user []byte, revision uint64, at int)) error {
	body, err := checkVersioned(key, value, journalVersion)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	for b := body; len(b) > 0; {
		kind := b[0]
		var user []byte
		if user, b, err = cutBytes(b[1:]); err != nil {
			break
		}
		if kind == entryErase {
			fn(user, 0, 0)
			continue
		}
		if kind != entryEvent {
			err = errEntry
			break
		}
		revision, n := binary.Uvarint(b)
		if n <= 0 || revision == 0 {
			err = errShort
			break
		}
		b = b[n:]
		at := len(value) - crcBytes - len(b)
		if _, b, err = cutBytes(b); err != nil {
			break
		}
		fn(user, revision, at)
	}
	if err != nil {
		return fmt.Errorf("%w: journal: %w", store.ErrCorrupt, err)
	}
	return nil
}
