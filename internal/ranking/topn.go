package ranking

import "math"

// TopN selects the first n of a stream of scored items in the order of results. It is exact and
// looks at every score once; the memory is that of the n results. Call Reset, then Offer as often
// as needed, then Sorted. The zero value selects nothing.
type TopN struct {
	n    int
	heap []Scored // the best so far; a binary heap with the last of them at the root
}

// Reset starts a new selection of n items in the memory of buf[:0], which grows if it is too small.
func (t *TopN) Reset(buf []Scored, n int) {
	t.n, t.heap = max(n, 0), buf[:0]
}

// Offer takes the scores of the items first, first+1, …; members of skip are left out. Calls must
// come in rising order of items. A NaN counts as −∞, so it comes after all numbers but −∞.
//
// O(len(scores)) for the comparisons with the worst kept score, and O(log n) for each score above
// it.
func (t *TopN) Offer(first int32, scores []float32, skip *Set) {
	if t.n == 0 {
		return
	}
	i := 0
	for ; i < len(scores) && len(t.heap) < t.n; i++ {
		if item := first + int32(i); !skip.Has(item) {
			t.push(Scored{item, number(scores[i])})
		}
	}
	if i == len(scores) {
		return
	}
	worst := t.heap[0].Score
	for ; i < len(scores); i++ {
		// A score equal to the worst has the larger index and stays out; so does a NaN, which
		// compares false.
		if s := scores[i]; s > worst && !skip.Has(first+int32(i)) {
			t.heap[0] = Scored{first + int32(i), s}
			down(t.heap, 0)
			worst = t.heap[0].Score
		}
	}
}

// Sorted returns the selected items, best first: n of them, or all that were offered and not
// skipped if these are fewer than n. It ends the selection; the caller owns the slice.
func (t *TopN) Sorted() []Scored {
	h := t.heap
	for end := len(h) - 1; end > 0; end-- {
		h[0], h[end] = h[end], h[0]
		down(h[:end], 0)
	}
	t.n, t.heap = 0, nil
	return h
}

func (t *TopN) push(s Scored) {
	t.heap = append(t.heap, s)
	h := t.heap
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !Before(h[parent], h[i]) {
			return
		}
		h[parent], h[i] = h[i], h[parent]
		i = parent
	}
}

// down lets entry i of a heap sink until both its children come before it in the order of results.
func down(h []Scored, i int) {
	for {
		last := 2*i + 1
		if last >= len(h) {
			return
		}
		if right := last + 1; right < len(h) && Before(h[last], h[right]) {
			last = right
		}
		if !Before(h[i], h[last]) {
			return
		}
		h[i], h[last] = h[last], h[i]
		i = last
	}
}

// number replaces a NaN by −∞.
func number(s float32) float32 {
	if s != s {
		return float32(math.Inf(-1))
	}
	return s
}
