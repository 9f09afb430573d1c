package coldstart

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gsimc/gsimc/server/internal/background"
	"github.com/gsimc/gsimc/store"
)

// sampleParts is the number of notes that the merged samples of a base are spread over, by their
// items, so that a change is a small write.
const sampleParts = 64

const headName = "head"

// maxPosters bounds the posters whose sequences an owner remembers. The posters that were not heard
// of for longest go first.
const maxPosters = 4096

// head is the part of what an owner knows that belongs to no item.
type head struct {
	searched bool   // the store has been searched for items that are new to the base
	counted  bool   // users is the number of users of the store
	users    int64  // of the store
	weights  uint64 // hash of the weights of events by which it was searched
	merges   uint64 // number of merges so far
	posters  map[string]posted
}

// posted is the last notice of a poster that was merged, and the merge that it was in.
type posted struct{ sequence, merge uint64 }

func partName(part int) string { return fmt.Sprintf("part-%02d", part) }

// partOf is the part of the samples that an item is in.
func partOf(item string) int { return store.Shard(item, sampleParts) }

func (h *head) encode() []byte {
	w := newNote()
	w.flag(h.searched)
	w.flag(h.counted)
	w.int(h.users)
	w.fixed(h.weights)
	w.uint(h.merges)
	w.count(len(h.posters))
	for _, poster := range slices.Sorted(maps.Keys(h.posters)) {
		w.text(poster)
		w.uint(h.posters[poster].sequence)
		w.uint(h.posters[poster].merge)
	}
	return w.b
}

func decodeHead(note []byte) (head, error) {
	r := readNote(note)
	h := head{searched: r.flag(), counted: r.flag(), users: r.int(), weights: r.fixed(),
		merges: r.uint(), posters: map[string]posted{}}
	for range r.count() {
		poster := r.text()
		h.posters[poster] = posted{r.uint(), r.uint()}
	}
	return h, r.end()
}

// prune forgets posters beyond the bound.
func (h *head) prune() {
	if len(h.posters) <= maxPosters {
		return
	}
	names := slices.SortedFunc(maps.Keys(h.posters), func(a, b string) int {
		return cmp.Or(cmp.Compare(h.posters[b].merge, h.posters[a].merge), cmp.Compare(a, b))
	})
	for _, name := range names[maxPosters:] {
		delete(h.posters, name)
	}
}

// encodePart returns the note of the samples of a part. placed is the number of users of an item
// when it was placed, 0 if it was not.
func (n *items) encodePart(part int, placed func(item string) float64) []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	var ids []string
	for id := range n.items {
		if partOf(id) == part {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	w := newNote()
	w.count(len(ids))
	for _, id := range ids {
		c := n.items[id]
		w.text(id)
		w.flag(c.stale)
		w.float(placed(id))
		w.count(len(c.sample))
		for _, u := range c.sample {
			w.text(u.id)
		}
	}
	return w.b
}

// samplePart is the content of a note of encodePart.
type samplePart struct {
	items  map[string]*coldItem
	placed map[string]float64
}

func decodePart(note []byte) (samplePart, error) {
	r := readNote(note)
	p := samplePart{map[string]*coldItem{}, map[string]float64{}}
	for range r.count() {
		id := r.text()
		c := &coldItem{stale: r.flag()}
		p.placed[id] = r.float()
		for range r.count() {
			user := r.text()
			c.sample = append(c.sample, sampledUser{background.Draw(user, 0), user})
		}
		if len(c.sample) > sampleUsers || !slices.IsSortedFunc(c.sample, compareSampled) {
			r.fail()
		}
		if r.err != nil {
			break
		}
		p.items[id] = c
	}
	return p, r.end()
}
