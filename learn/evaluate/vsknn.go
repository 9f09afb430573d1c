package evaluate

import (
	"cmp"
	"math"
	"slices"

	"github.com/gsimc/gsimc/learn/dataset"
)

// neighbours is the model V-SKNN, "vector multiplication session-based k nearest neighbours" (M.
// Ludewig, D. Jannach, "Evaluation of session-based recommendation algorithms", User Modeling and
// User-Adapted Interaction 28, 2018). A session is the history of a training user. For a history of
// L items, of which item i lies j(i) events back, 0 for the newest:
//
//	sim(s) = Σ_{i in history and s} w(j(i), L),   back(s) = min_{i in history and s} j(i)
//	ŷ_i    = (1 + c ln(sessions/sessions with i)) Σ_{s in N with i} sim(s) v(back(s), L)
//
// w and v are decays. N are the k sessions of the largest sim among the m most recent sessions that
// share an item with the history. A session is as recent as its last event. Without times, and for
// equal times, the order is that of the users; sessions of equal sim come in that order too. The
// weights of events do not count.
//
// The paper has linear decays and c = 0. The other decays and c are those of its authors' code,
// except that a decay is 1 for the newest event. Similarities are sums in float32, the newest event
// first.
type neighbours struct {
	train *dataset.Histories
	order []int32 // training users, the most recent first; a session is a place in it

	// sessions[ptr[i]:ptr[i+1]] are the sessions with item i, the most recent first.
	ptr      []int64
	sessions []int32
}

// neighbourSpec are the constants of [neighbours].
type neighbourSpec struct {
	k, m       int
	similarity decay   // w
	match      decay   // v
	idf        float64 // c
}

// decay is the weight of an event that lies back events behind the newest of a history of the given
// length. It falls from 1.
type decay struct {
	name   string
	weight func(back, length int) float64
}

// decays are all decays, the flattest first.
var decays = []decay{
	{"same", func(int, int) float64 { return 1 }},
	{"log", func(back, _ int) float64 { return math.Log(1.7) / math.Log(1.7+float64(back)) }},
	{"linear", func(back, length int) float64 { return float64(length-back) / float64(length) }},
	{"quadratic", func(back, length int) float64 {
		x := float64(length-back) / float64(length)
		return x * x
	}},
	{"reciprocal", func(back, _ int) float64 { return 1 / float64(1+back) }},
	{"reciprocal-square", func(back, _ int) float64 {
		x := 1 / float64(1+back)
		return x * x
	}},
}

// newNeighbours builds the inverted index: 4 bytes for each interaction, and 8 for each item.
func newNeighbours(p *dataset.Partition) *neighbours {
	h := &p.Train
	x := &neighbours{
		train: h, order: make([]int32, h.Len()), ptr: make([]int64, len(p.Items)+1),
		sessions: make([]int32, len(h.Item)),
	}
	last := make([]int64, h.Len())
	for u := range x.order {
		x.order[u] = int32(u)
		if times := h.Times(u); len(times) > 0 {
			last[u] = times[len(times)-1]
		}
	}
	slices.SortStableFunc(x.order, func(a, b int32) int { return cmp.Compare(last[b], last[a]) })
	for _, i := range h.Item {
		x.ptr[i+1]++
	}
	for i := range p.Items {
		x.ptr[i+1] += x.ptr[i]
	}
	next := slices.Clone(x.ptr)
	for s, u := range x.order {
		for _, i := range h.Of(int(u)) {
			x.sessions[next[i]] = int32(s)
			next[i]++
		}
	}
	return x
}

// ranks returns the ranks of the last item of every user of h by the scores of the items before it.
func (x *neighbours) ranks(
	h *dataset.Histories, spec *neighbourSpec, progress func(done int),
) []int32 {
	ranks := make([]int32, h.Len())
	factors := x.factors(spec.idf)
	forEach(len(ranks), progress, func() func(u int) {
		w := x.worker(factors)
		return func(u int) {
			seen, _ := split(h, u)
			w.score(seen, spec)
			ranks[u] = rankLast(w.scores, h, u)
		}
	})
	return ranks
}

// factors returns 1 + c ln(sessions/sessions with i) for each item i; nil if c is 0.
func (x *neighbours) factors(c float64) []float64 {
	if c == 0 {
		return nil
	}
	out := make([]float64, len(x.ptr)-1)
	for i := range out {
		with := max(1, x.ptr[i+1]-x.ptr[i])
		out[i] = 1 + float64(c*math.Log(float64(len(x.order))/float64(with)))
	}
	return out
}

// neighbourWorker computes the scores of one history after the other.
type neighbourWorker struct {
	*neighbours
	similarity []float32 // of each session; 0 between two histories
	match      []int32   // how far back the newest shared item lies, for sessions that share one
	shared     []int32   // sessions that share an item
	nearest    []uint64  // see find
	scores     []float64 // of the items
	factors    []float64 // of the scores; nil: all are 1
}

func (x *neighbours) worker(factors []float64) *neighbourWorker {
	return &neighbourWorker{
		neighbours: x, factors: factors, similarity: make([]float32, len(x.order)),
		match: make([]int32, len(x.order)), scores: make([]float64, len(x.ptr)-1),
	}
}

// score stores the scores of the items in w.scores.
func (w *neighbourWorker) score(history []int32, spec *neighbourSpec) {
	w.find(history, spec)
	clear(w.scores)
	for _, key := range w.nearest {
		s := uint32(key)
		v := spec.match.weight(int(w.match[s]), len(history))
		gain := float64(float64(w.similarity[s]) * v)
		for _, i := range w.train.Of(int(w.order[s])) {
			w.scores[i] += gain
		}
	}
	for i := range w.factors {
		w.scores[i] *= w.factors[i]
	}
	for _, s := range w.shared {
		w.similarity[s] = 0
	}
}

// find stores N in w.nearest, in order. An element is a number that rises when the similarity
// falls, in the upper half, and the session in the lower half.
//
// The m most recent sessions with an item are enough: a session behind them has m sessions before
// it that share an item. Its similarity may then be too small, but it is no candidate.
func (w *neighbourWorker) find(history []int32, spec *neighbourSpec) {
	w.shared, w.nearest = w.shared[:0], w.nearest[:0]
	for back := range history {
		i := history[len(history)-1-back]
		weight := float32(spec.similarity.weight(back, len(history)))
		with := w.sessions[w.ptr[i]:w.ptr[i+1]]
		for _, s := range with[:min(spec.m, len(with))] {
			if w.similarity[s] == 0 {
				w.shared = append(w.shared, s)
				w.match[s] = int32(back)
			}
			w.similarity[s] += weight
		}
	}
	candidates := w.shared
	if len(candidates) > spec.m {
		slices.Sort(candidates)
		candidates = candidates[:spec.m]
	}
	for _, s := range candidates {
		w.nearest = append(w.nearest, uint64(^math.Float32bits(w.similarity[s]))<<32|uint64(s))
	}
	slices.Sort(w.nearest)
	w.nearest = w.nearest[:min(spec.k, len(w.nearest))]
}
