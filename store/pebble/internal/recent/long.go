package recent

import "sync"

// The table of ids of a long history takes some 20 bytes for each event, so a few users can have
// more of them than all other histories take. Their tables are let go of without the histories,
// which may have events in the journal; the next write reads the ids back.

// longHistories are the histories with a table of ids.
type longHistories struct {
	mu   sync.Mutex
	list []*History
	next int // to be looked at, when tables are let go of
}

func (l *longHistories) add(h *History) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, h)
	h.place = len(l.list)
}

func (l *longHistories) remove(h *History) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := len(l.list) - 1
	l.list[last].place = h.place
	l.list[h.place-1] = l.list[last]
	l.list[last], l.list = nil, l.list[:last]
	h.place = 0
}

// unused takes the next history whose table was not used since it was last looked at, or nil if
// there is only one table (the clock algorithm). It belongs to the committer.
func (l *longHistories) unused() *History {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.list) > 1 {
		l.next %= len(l.list)
		h := l.list[l.next]
		if !h.used {
			return h
		}
		h.used = false
		l.next++
	}
	return nil
}

// countTable counts the table of a history anew. Requires the lock of its shard.
func (hs *Histories) countTable(h *History, bytes int) {
	before := h.table
	h.table = bytes
	if bytes == before {
		return
	}
	hs.tables.Add(int64(bytes - before))
	if before == 0 {
		hs.long.add(h)
	}
	if bytes == 0 {
		hs.long.remove(h)
	}
}

// tableLimit is the number of bytes that tables may take of the limit.
func (hs *Histories) tableLimit() int64 { return hs.limit / 2 }

// trimTables lets go of tables that were not used for longest, down to the limit, but for one: a
// history that is too long for the limit is not read back for each write. It belongs to the
// committer, and no call must be in planning.
func (hs *Histories) trimTables() {
	for hs.tables.Load() > hs.tableLimit() {
		h := hs.long.unused()
		if h == nil {
			return
		}
		sh := h.shard
		sh.mu.Lock()
		h.ids, h.loaded = idSet{}, false
		hs.weigh(h)
		sh.mu.Unlock()
	}
}
