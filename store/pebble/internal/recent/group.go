package recent

import "github.com/gsimc/gsimc/internal/num/prefetch"

// A Group is what becomes durable together: the changes of some histories. Use [Editor.TakeGroup].
type Group struct {
	number uint64
	parity int // of the generation with the events
	faces  []face
}

// A face is a history as its group leaves it. Earlier events are in the other generation, or in
// rows, where they are shown already.
type face struct {
	history *History
	head    uint64
	mark    uint64
	tail    []Place // in the generation of the group
	erased  bool    // everything before the tail has been erased
}

// Show lets readers see a durable group, all at once for [Histories.Heads]. Groups must be shown in
// order.
func (hs *Histories) Show(g *Group) {
	hs.publish.Lock()
	defer hs.publish.Unlock()
	load := prefetch.Stage{
		Distance: historyAhead, Begin: func(i int) { prefetch.Value(g.faces[i].history) },
	}
	for i := range prefetch.Ahead(len(g.faces), load) {
		f := &g.faces[i]
		h := f.history
		h.shard.mu.Lock()
		h.save()
		if f.erased {
			h.shown.tails, h.shown.rows = [2][]Place{}, nil
		}
		h.shown.head, h.shown.mark, h.shown.tails[g.parity] = f.head, f.mark, f.tail
		h.shard.mu.Unlock()
	}
	hs.shown.Store(g.number)
}
