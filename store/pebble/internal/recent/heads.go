package recent

import "github.com/gsimc/gsimc/store"

// A frozen shard has the face of one moment until it has been copied: what changes meanwhile is
// saved first. So a copy of all shards is of one moment, and nobody waits for more than the copy of
// one shard.

// savedHead is what [Histories.Heads] is to say of a user whose history has changed since.
type savedHead struct {
	version store.Version
	told    bool // else the rows say the same
}

// Heads returns the versions of the users with events outside rows, or whose rows were removed
// by an erasure that is not shown yet. pin is to take a snapshot of the rows, which is of the same
// moment. Changes are shown meanwhile, except while pin runs.
func (hs *Histories) Heads(pin func() error) (map[string]store.Version, error) {
	hs.copying.Lock()
	defer hs.copying.Unlock()
	if err := hs.freeze(pin); err != nil {
		return nil, err
	}
	heads := map[string]store.Version{}
	for i := range hs.shards {
		hs.shards[i].copyHeads(heads)
	}
	return heads, nil
}

// freeze makes all shards keep the face of one moment, which is that of pin too.
func (hs *Histories) freeze(pin func() error) error {
	hs.publish.Lock()
	defer hs.publish.Unlock()
	for i := range hs.shards {
		sh := &hs.shards[i]
		sh.mu.Lock()
		sh.saved = map[string]savedHead{}
		sh.mu.Unlock()
	}
	// Events that are moved to rows from here on are told of twice, if pin sees them there.
	err := pin()
	if err != nil {
		for i := range hs.shards {
			hs.shards[i].copyHeads(map[string]store.Version{})
		}
	}
	return err
}

// copyHeads adds the heads of the moment at which the shard was frozen, and thaws it.
func (sh *shard) copyHeads(heads map[string]store.Version) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for user, h := range sh.byUser {
		if _, changed := sh.saved[user]; !changed && h.outsideRows() {
			heads[user] = h.version()
		}
	}
	for user, saved := range sh.saved {
		if saved.told {
			heads[user] = saved.version
		}
	}
	sh.saved = nil
}

// outsideRows reports whether the rows do not say what the history shows. Requires the lock of the
// shard.
func (h *History) outsideRows() bool { return h.pending() > 0 || h.shown.rows != nil }

// save keeps the face of a history for the copy of a frozen shard. It is to be called before a
// group or the sorter changes it. Requires the lock of the shard.
func (h *History) save() {
	saved := h.shard.saved
	if saved == nil {
		return
	}
	if _, before := saved[h.user]; !before {
		saved[h.user] = savedHead{h.version(), h.outsideRows()}
	}
}
