package pebble

import (
	"context"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
)

// history is what is in memory of the history of a user: of everyone with events in the journal, and of those who wrote
// recently.
type history struct {
	user  string
	shard *shard

	// Of the committer alone.
	head    uint64     // revision, with what is planned and not yet shown
	ids     idSet      // the event ids; complete if loaded
	loaded  bool       // ids is complete
	tails   [2][]place // events that are not in rows, by the parity of their generation; those being sorted belong to the sorter
	planned bool       // tails and head are ahead of what is shown
	gone    bool       // it is not in memory any more
	before  struct {   // where the call that is being planned found the history
		call uint64 // number of the call
		head uint64
		tail int
	}
	size int // as it is counted in the shard

	// Guarded by the lock of the shard.
	shown struct {
		head  uint64
		tails [2][]place
	}
}

// pending is the number of shown events that are not in rows. Requires the lock of the shard.
func (h *history) pending() int { return len(h.shown.tails[0]) + len(h.shown.tails[1]) }

// inRows is the shown revision up to which the events are in rows. Requires the lock of the shard.
func (h *history) inRows() uint64 { return h.shown.head - uint64(h.pending()) }

const historyBytes = 320 // a guess at what a history costs besides its slices

func (h *history) bytes() int {
	return historyBytes + len(h.user) + h.ids.bytes() + 8*(cap(h.tails[0])+cap(h.tails[1]))
}

// shardCount is large enough that a lock, which is held for some hundred nanoseconds, is hardly ever waited for.
const shardCount = 1024

// histories are the histories in memory.
type histories struct {
	seed    maphash.Seed
	limit   int // bytes of a shard
	shards  [shardCount]shard
	publish sync.Mutex // held while what belongs together is shown
}

type shard struct {
	mu      sync.Mutex
	byUser  map[string]*history
	bytes   int
	evicted uint64 // how often something was let go
	full    int    // bytes at which to let go of something the next time: more than the limit if little could go
}

func newHistories(limit int64) *histories {
	hs := &histories{seed: maphash.MakeSeed(), limit: int(limit / shardCount)}
	for i := range hs.shards {
		hs.shards[i] = shard{byUser: map[string]*history{}, full: hs.limit}
	}
	return hs
}

func (hs *histories) shard(user string) *shard {
	return &hs.shards[maphash.String(hs.seed, user)%shardCount]
}

// get returns the history of the user, or nil if it is not in memory.
func (hs *histories) get(user string) *history {
	sh := hs.shard(user)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.byUser[user]
}

// put adds a history, unless one of the user is there, and returns that which is there.
func (hs *histories) put(h *history) *history {
	sh := hs.shard(h.user)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.put(h)
}

func (sh *shard) put(h *history) *history {
	if present := sh.byUser[h.user]; present != nil {
		return present
	}
	sh.byUser[h.user], h.shard = h, sh
	h.size = h.bytes()
	sh.bytes += h.size
	return h
}

// show makes what was planned visible to readers, all at once for those who lock publish, and keeps the shards within their
// bound. It belongs to the committer.
func (hs *histories) show(planned []*history) {
	hs.publish.Lock()
	defer hs.publish.Unlock()
	for _, h := range planned {
		h.planned = false
		sh := h.shard
		sh.mu.Lock()
		h.shown.head, h.shown.tails = h.head, h.tails
		sh.weigh(h)
		sh.trim(hs.limit)
		sh.mu.Unlock()
	}
}

// trim keeps the user's shard within its bound. It belongs to the committer, which must not be planning a call.
func (hs *histories) trim(user string) {
	sh := hs.shard(user)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.trim(hs.limit)
}

// trim evicts if there is much. If hardly anything can go, because it is in the journal, it is tried again when there is an
// eighth more, so that the search costs little for each history.
func (sh *shard) trim(limit int) {
	if sh.bytes <= sh.full {
		return
	}
	sh.evict(limit - limit/8)
	sh.full = max(limit, sh.bytes+sh.bytes/8)
}

// weigh counts the memory of a history anew.
func (sh *shard) weigh(h *history) {
	size := h.bytes()
	sh.bytes += size - h.size
	h.size = size
}

// evict lets go of histories that are all in rows, in the random order of the map, down to the limit. What is planned stays.
func (sh *shard) evict(limit int) {
	for user, h := range sh.byUser {
		if sh.bytes <= limit {
			return
		}
		if h.planned || h.pending() > 0 {
			continue
		}
		delete(sh.byUser, user)
		h.gone = true
		sh.bytes -= h.size
		sh.evicted++
	}
}

// idHash is the hash of an event id in an idSet.
func (hs *histories) idHash(id string) uint64 { return maphash.String(hs.seed, id) }

// loadIDs notes the ids of the events in rows and in the journal, with what is planned. It belongs to the committer.
func (s *Store) loadIDs(h *history) error {
	filling := s.journal.gen.parity
	sh := h.shard
	sh.mu.Lock() // the sorter may be about to put the other tail into rows
	tails := [2][]place{slices.Clone(h.tails[1-filling]), h.tails[filling]}
	sh.mu.Unlock()
	ids, err := s.readIDs(h.user, h.head-uint64(len(tails[0])+len(tails[1])), h.head)
	if err != nil {
		return err
	}
	for i, parity := range [2]int{1 - filling, filling} {
		for _, p := range tails[i] {
			id, err := eventID(s.gens[parity].Load().event(p))
			if err != nil {
				return corruptEvent(err)
			}
			ids.add(maphash.Bytes(s.histories.seed, id))
		}
	}
	h.ids, h.loaded = ids, true
	sh.mu.Lock()
	sh.weigh(h)
	sh.mu.Unlock()
	return nil
}

// readIDs reads the ids of the events in rows up to a revision. The set has room for so many.
func (s *Store) readIDs(user string, rows, room uint64) (idSet, error) {
	ids := newIDSet(room)
	if rows == 0 {
		return ids, nil
	}
	r, err := s.newReader()
	if err != nil {
		return ids, err
	}
	defer r.close()
	err = r.each(context.Background(), user, 0, rows, func(_ uint64, event []byte) error {
		id, err := eventID(event)
		if err != nil {
			return corruptEvent(err)
		}
		ids.add(maphash.Bytes(s.histories.seed, id))
		return nil
	})
	return ids, err
}

// prefetch brings the history of a user who is not in memory there. Errors are left to the committer, who will meet them.
func (s *Store) prefetch(user string) {
	sh := s.histories.shard(user)
	sh.mu.Lock()
	present, evicted := sh.byUser[user] != nil, sh.evicted
	sh.mu.Unlock()
	if present {
		return
	}
	h, err := s.load(user)
	if err != nil {
		return
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	// If the user's history came and went meanwhile, what was read may be of the time before. If there is too much, the committer
	// reads it, and lets go of others then: the call may be given up before.
	if sh.evicted == evicted && sh.bytes <= sh.full {
		sh.put(h)
	}
}

// load reads the history of a user who has no events in the journal.
func (s *Store) load(user string) (*history, error) {
	head, err := s.headInRows(user)
	if err != nil {
		return nil, err
	}
	ids, err := s.readIDs(user, head, head)
	if err != nil {
		return nil, err
	}
	h := &history{user: strings.Clone(user), head: head, ids: ids, loaded: true}
	h.shown.head = head
	return h, nil
}
