package recent

import (
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
)

// A History is the part of a user's history that is in memory.
type History struct {
	user  string
	shard *shard

	// Of the committer alone.
	head    uint64     // revision, with the planned events
	mark    uint64     // of this life; without meaning if there are no events
	ids     idSet      // complete if loaded
	loaded  bool       // ids is complete
	tails   [2][]Place // events not in rows, by parity; a generation being sorted is the sorter's
	planned bool       // changed since the last group
	erased  bool       // erased since the last group
	group   uint64     // number of the last group with a change of it
	gone    bool       // it is not in memory any more
	before  struct {   // state before the call that is being planned
		call uint64 // number of the call
		head uint64
		tail int
	}
	size int  // as it is counted in the shard
	used bool // its table of ids has been, since tables were last let go of

	table int // bytes of its table of ids, as they are counted; guarded by the lock of the shard
	place int // from 1 on in Histories.long, whose lock guards it; 0: not there

	// What readers see. Guarded by the lock of the shard.
	shown struct {
		head  uint64
		mark  uint64
		tails [2][]Place
		rows  Rows // where the shown rows are, if they have been removed; else nil
	}
}

// Rows are a snapshot of all rows.
type Rows interface{ Close() error }

// User returns the user of the history.
func (h *History) User() string { return h.user }

// pending is the number of shown events that are not in rows. Requires the lock of the shard.
func (h *History) pending() int { return len(h.shown.tails[0]) + len(h.shown.tails[1]) }

// inRows is the shown revision up to which the events are in rows. Requires the lock of the shard.
func (h *History) inRows() uint64 { return h.shown.head - uint64(h.pending()) }

// InRows returns the shown version up to which the events are in rows. It has the mark of the
// history even if there are none.
func (h *History) InRows() store.Version {
	h.shard.mu.Lock()
	defer h.shard.mu.Unlock()
	return store.Version{Revision: h.inRows(), Mark: h.shown.mark}
}

const historyBytes = 336 // a guess at the memory of a history besides its slices

func (h *History) bytes() int {
	return historyBytes + len(h.user) + cap(h.ids.tags) + 8*(cap(h.tails[0])+cap(h.tails[1]))
}

// IDs are the ids of the events of one history, in the order of its revisions. Use
// [Histories.NewIDs].
type IDs struct {
	set  idSet
	seed maphash.Seed
}

// Add notes the id of the next event, which is encoded as in rows.
func (ids *IDs) Add(event []byte) error {
	id, err := row.EventID(event)
	if err != nil {
		return err
	}
	ids.set.add(maphash.Bytes(ids.seed, id))
	return nil
}

// shardCount is large enough that a lock, which is held for some hundred nanoseconds, is hardly
// ever waited for.
const shardCount = 1024

// Histories are the histories in memory. They are safe for concurrent use. Use [New] and
// [Histories.Replay].
type Histories struct {
	seed    maphash.Seed
	limit   int64
	tables  atomic.Int64 // bytes of the tables of ids
	long    longHistories
	shards  [shardCount]shard
	publish sync.Mutex    // held while changes that belong together are shown
	copying sync.Mutex    // held while shards are frozen
	shown   atomic.Uint64 // number of the last group that is shown

	// by parity; loaded under the lock of a history with places in it
	gens    [2]atomic.Pointer[Generation]
	filling atomic.Int32 // parity of the generation that is being filled
}

type shard struct {
	mu      sync.Mutex
	byUser  map[string]*History
	bytes   int
	evicted uint64 // histories let go of
	full    int    // bytes at which to evict next: more than the limit if little could go
	// saved are the users that changed since the shard was frozen; nil: it is not.
	saved map[string]savedHead
}

// New returns an empty set of histories that keeps about limit bytes in memory, besides the
// histories with events in the journal.
func New(limit int64) *Histories {
	hs := &Histories{seed: maphash.MakeSeed(), limit: limit}
	for i := range hs.shards {
		hs.shards[i] = shard{byUser: map[string]*History{}, full: hs.shardLimit()}
	}
	return hs
}

// shardLimit is the number of bytes of a shard, without tables of ids.
func (hs *Histories) shardLimit() int {
	return int((hs.limit - min(hs.tables.Load(), hs.tableLimit())) / shardCount)
}

func (hs *Histories) shard(user string) *shard {
	return &hs.shards[maphash.String(hs.seed, user)%shardCount]
}

// IDHash returns the hash of an event id by which [Editor.Candidates] finds it.
func (hs *Histories) IDHash(id string) uint64 { return maphash.String(hs.seed, id) }

// NewIDs returns an empty list of ids, with room for the number of revisions.
func (hs *Histories) NewIDs(revisions uint64) IDs {
	return IDs{set: newIDSet(revisions), seed: hs.seed}
}

// Get returns the history of the user, or nil if it is not in memory.
func (hs *Histories) Get(user string) *History {
	sh := hs.shard(user)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.byUser[user]
}

// NewHistory returns a history that is wholly in rows and whose ids are not known yet. It is not in
// memory before it is put there.
func NewHistory(user string, head store.Version) *History {
	h := &History{user: strings.Clone(user), head: head.Revision, mark: head.Mark}
	h.shown.head, h.shown.mark = head.Revision, head.Mark
	return h
}

// SetIDs gives a history that is not yet in memory the ids of all its events.
func (h *History) SetIDs(ids IDs) { h.ids, h.loaded = ids.set, true }

// Absent reports whether the user's history is not in memory. The ticket tells [Histories.Offer]
// since when.
func (hs *Histories) Absent(user string) (ticket uint64, absent bool) {
	sh := hs.shard(user)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.evicted, sh.byUser[user] == nil
}

// Offer puts a history into memory that was read from rows after its ticket was given out. It is
// not taken if it may be out of date, because the user's history may have come and gone meanwhile,
// or if memory is full.
func (hs *Histories) Offer(h *History, ticket uint64) {
	sh := hs.shard(h.user)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	room := h.ids.slots == nil || hs.tables.Load()+int64(h.ids.tableBytes()) <= hs.tableLimit()
	if sh.evicted == ticket && sh.bytes <= sh.full && room {
		hs.putInto(sh, h)
	}
}

// Bytes returns about how much memory the histories take, for tests and diagnosis.
func (hs *Histories) Bytes() (total int) {
	for i := range hs.shards {
		sh := &hs.shards[i]
		sh.mu.Lock()
		for _, h := range sh.byUser {
			total += h.bytes() + h.ids.tableBytes()
		}
		sh.mu.Unlock()
	}
	return total
}

// put adds a history, unless one of the user is there, and returns the history that is there.
func (hs *Histories) put(h *History) *History {
	sh := hs.shard(h.user)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return hs.putInto(sh, h)
}

// putInto is put with the lock of the shard.
func (hs *Histories) putInto(sh *shard, h *History) *History {
	if present := sh.byUser[h.user]; present != nil {
		return present
	}
	sh.byUser[h.user], h.shard = h, sh
	hs.weigh(h)
	return h
}

// trim evicts if there is too much in a shard. If hardly anything can go, because it is in the
// journal, it is tried again when there is an eighth more, so that the search costs little for each
// history. Requires the lock of the shard.
func (hs *Histories) trim(sh *shard) {
	if sh.bytes <= sh.full {
		return
	}
	limit := hs.shardLimit()
	hs.evict(sh, limit-limit/8, hs.shown.Load())
	sh.full = max(limit, sh.bytes+sh.bytes/8)
}

// weigh counts the memory of a history anew. Requires the lock of its shard.
func (hs *Histories) weigh(h *History) {
	size, table := h.bytes(), h.ids.tableBytes()
	h.shard.bytes += size - h.size
	h.size = size
	hs.countTable(h, table)
}

// evict lets go of histories that are wholly in rows, in the random order of the map, down to the
// limit. Those with changes that are planned, or after the last shown group, stay.
func (hs *Histories) evict(sh *shard, limit int, shown uint64) {
	for user, h := range sh.byUser {
		if sh.bytes <= limit {
			return
		}
		if h.planned || h.group > shown || h.pending() > 0 {
			continue
		}
		delete(sh.byUser, user)
		h.gone = true
		sh.bytes -= h.size
		hs.countTable(h, 0)
		sh.evicted++
	}
}
