package recent

import (
	"slices"
	"strings"

	"github.com/gsimc/gsimc/internal/num/prefetch"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
)

const (
	// SortBytes is the size of a generation at which a store should sort it. A store with the
	// default options makes its writers wait at twice the size.
	SortBytes = 16 << 20

	// blockBytes is the size of the pieces in which rows of the journal are kept in memory.
	blockBytes = 1 << 20
	// maxBlocks bounds the blocks of a generation, some of which may be nearly empty, before its
	// last call. The last call may be large: it finds room in spareBlocks further ones, each twice
	// as large as the one before.
	maxBlocks   = 4 * SortBytes / blockBytes
	spareBlocks = 12
)

// A Generation is the part of the journal that is sorted at once. The committer fills it. Then it
// belongs to the sorter and does not change.
type Generation struct {
	parity int
	blocks [][]byte // of rows, with their full capacity; written before a place in one is known
	used   int      // blocks
	bytes  int
	last   uint64     // number of the last row
	users  int64      // with events, when the next generation began
	dirty  []*History // histories with events in this generation, some of them twice
}

func newGeneration(parity int) *Generation {
	return &Generation{parity: parity, blocks: make([][]byte, maxBlocks+spareBlocks)}
}

// full reports whether the generation must be sorted before it can take more.
func (g *Generation) full(limit int) bool { return g.bytes >= limit || g.used >= maxBlocks }

// A Place says where an event stands in its generation: the block, and in the lower 32 bits the
// offset in the block.
type Place uint64

// Event returns the encoded event at a place.
func (g *Generation) Event(p Place) []byte { return row.EventAt(g.blocks[p>>32][uint32(p):]) }

// Last returns the number of the last row of the journal in the generation.
func (g *Generation) Last() uint64 { return g.last }

// Users returns the number of users with events as of the last row; negative: not known.
func (g *Generation) Users() int64 { return g.users }

// Tail returns the places of the events of a history in the generation.
func (g *Generation) Tail(h *History) []Place { return h.tails[g.parity] }

const (
	historyAhead = 8 // how many histories before its turn a history is loaded
	tailAhead    = 4 // and its tail
)

// Stages loads histories of the generation ahead of their turn.
func (g *Generation) Stages(histories []*History) []prefetch.Stage {
	return []prefetch.Stage{
		{Distance: historyAhead, Begin: func(i int) { prefetch.Value(histories[i]) }},
		{Distance: tailAhead, Begin: func(i int) { prefetch.Slice(g.Tail(histories[i])) }},
	}
}

// Histories returns the histories with events in the generation, in the order of their keys, each
// once. It is to be called once.
func (g *Generation) Histories() []*History {
	dirty := g.dirty
	type named struct {
		user string // a copy, since to look into two histories takes longer than to compare
		h    *History
	}
	users := make([]named, len(dirty))
	for i := range prefetch.Ahead(len(dirty), g.Stages(dirty)[0]) {
		users[i] = named{dirty[i].user, dirty[i]}
	}
	slices.SortFunc(users, func(a, b named) int { return compareUsers(a.user, b.user) })
	for i, u := range users {
		dirty[i] = u.h
	}
	return slices.Compact(dirty) // a history that was erased meanwhile may be there twice
}

// compareUsers orders users as their keys do.
func compareUsers(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// maxTailCapacity is the room for events that a history keeps for the generation after the next.
const maxTailCapacity = 128

// Moved lets readers find the events that a history has in the generation in rows.
func (g *Generation) Moved(h *History) {
	sh := h.shard
	sh.mu.Lock()
	defer sh.mu.Unlock()
	h.save()
	tail := &h.tails[g.parity]
	if cap(*tail) > maxTailCapacity {
		*tail = nil
	}
	*tail = (*tail)[:0]
	h.shown.tails[g.parity] = nil
}

// journalRow is a row of the journal that is not yet in the engine.
type journalRow struct {
	number uint64
	value  []byte
}

// writer composes rows of the journal in the blocks of a generation.
type writer struct {
	gen   *Generation
	block []byte // the open block, up to the end of the written part
	start int    // of the open row in it
	rows  []journalRow
	next  uint64 // number of the next row
	key   []byte
}

// mark is a state to which the writer can go back.
type mark struct {
	rows, length, start, used, bytes, dirty int
	next                                    uint64
	block                                   []byte
}

func (w *writer) mark() mark {
	return mark{
		rows: len(w.rows), length: len(w.block), start: w.start,
		used: w.gen.used, bytes: w.gen.bytes, dirty: len(w.gen.dirty),
		next: w.next, block: w.block,
	}
}

// back removes everything written since the mark. No reader knows a place in it.
func (w *writer) back(m mark) {
	w.rows, w.next = w.rows[:m.rows], m.next
	w.block, w.start, w.gen.used, w.gen.bytes = m.block[:m.length], m.start, m.used, m.bytes
	clear(w.gen.dirty[m.dirty:])
	w.gen.dirty = w.gen.dirty[:m.dirty]
}

// reserve makes room for an entry.
func (w *writer) reserve(size int) {
	if cap(w.block)-len(w.block) < size+row.ChecksumBytes {
		w.closeRow()
		spare := max(0, w.gen.used-maxBlocks)
		block := make([]byte, max(blockBytes<<spare, size+row.ChecksumBytes+1))
		w.gen.blocks[w.gen.used] = block
		w.gen.used++
		w.block, w.start = block[:0], 0
	}
	if len(w.block) == w.start {
		w.block = row.BeginJournal(w.block)
	}
}

// closeRow ends the open row, if there is anything in it.
func (w *writer) closeRow() {
	if len(w.block) <= w.start+1 {
		w.block = w.block[:w.start]
		return
	}
	w.key = row.JournalKey(w.key, w.next)
	w.block = row.End(w.block, w.start, w.key)
	w.rows = append(w.rows, journalRow{w.next, w.block[w.start:]})
	w.gen.bytes += len(w.block) - w.start
	w.start = len(w.block)
	w.next++
}

// event writes an entry and returns its place.
func (w *writer) event(user string, v store.Version, e *store.Event) Place {
	w.reserve(row.MaxEntryBytes(user, e))
	b, at := row.AppendEntry(w.block, user, v, e)
	w.block = b
	return Place(w.gen.used-1)<<32 | Place(at)
}

// erase writes the entry of an erasure.
func (w *writer) erase(user string) {
	w.reserve(row.MaxErasureBytes(user))
	w.block = row.AppendErasure(w.block, user)
}

// begin lets the writer fill another generation. There must be no open row.
func (w *writer) begin(g *Generation) {
	w.gen, w.block, w.start = g, nil, 0
}
