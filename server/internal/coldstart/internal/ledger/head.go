package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gsimc/gsimc/server/internal/coldstart/internal/codec"
)

// headName is the name of the note of a head.
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

// partName is the name of the note of a part of the samples.
func partName(part int) string { return fmt.Sprintf("part-%02d", part) }

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
