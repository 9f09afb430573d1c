package coldstart

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gsimc/gsimc/server/internal/background"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/codec"
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
	w := codec.New()
	w.Flag(h.searched)
	w.Flag(h.counted)
	w.Int(h.users)
	w.Fixed(h.weights)
	w.Uint(h.merges)
	w.Count(len(h.posters))
	for _, poster := range slices.Sorted(maps.Keys(h.posters)) {
		w.Text(poster)
		w.Uint(h.posters[poster].sequence)
		w.Uint(h.posters[poster].merge)
	}
	return w.Bytes()
}

func decodeHead(note []byte) (head, error) {
	r := codec.Read(note)
	h := head{searched: r.Flag(), counted: r.Flag(), users: r.Int(), weights: r.Fixed(),
		merges: r.Uint(), posters: map[string]posted{}}
	for range r.Count() {
		poster := r.Text()
		h.posters[poster] = posted{r.Uint(), r.Uint()}
	}
	return h, r.End()
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
	w := codec.New()
	w.Count(len(ids))
	for _, id := range ids {
		c := n.items[id]
		w.Text(id)
		w.Flag(c.stale)
		w.Float(placed(id))
		w.Count(len(c.sample))
		for _, u := range c.sample {
			w.Text(u.id)
		}
	}
	return w.Bytes()
}

// samplePart is the content of a note of encodePart.
type samplePart struct {
	items  map[string]*coldItem
	placed map[string]float64
}

func decodePart(note []byte) (samplePart, error) {
	r := codec.Read(note)
	p := samplePart{map[string]*coldItem{}, map[string]float64{}}
	for range r.Count() {
		id := r.Text()
		c := &coldItem{stale: r.Flag()}
		p.placed[id] = r.Float()
		for range r.Count() {
			user := r.Text()
			c.sample = append(c.sample, sampledUser{background.Draw(user, 0), user})
		}
		if len(c.sample) > sampleUsers || !slices.IsSortedFunc(c.sample, compareSampled) {
			r.Fail()
		}
		if r.Err() != nil {
			break
		}
		p.items[id] = c
	}
	return p, r.End()
}
