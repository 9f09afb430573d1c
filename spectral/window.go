package spectral

import (
	"fmt"
	"iter"
	"math"

	"github.com/gsimc/gsimc/internal/fault"
)

// MaxWindow is the largest Graph.Window.
const MaxWindow = 10000

// Windows cuts the items of a history into its hyperedges for a [Graph.Window] of w: windows of w
// consecutive items, one every w/2 items, the last one at the end of the history. A history of at
// most w items is one window; with w = 0 every history is one.
func Windows(items []int32, w int) iter.Seq[[]int32] {
	return func(yield func([]int32) bool) {
		if w == 0 || len(items) <= w {
			yield(items)
			return
		}
		start := 0
		for ; start+w < len(items); start += w / 2 {
			if !yield(items[start : start+w]) {
				return
			}
		}
		yield(items[len(items)-w:])
	}
}

// windowed returns r with a row for each window of a user's history, see Windows. w = 0 returns r
// itself.
func (r *Incidence) windowed(w int) (*Incidence, error) {
	if w == 0 {
		return r, nil
	}
	size, rows, _ := r.windowedSize(w)
	out := &Incidence{
		NumItems: r.NumItems, Item: make([]int32, 0, int(size)), Ptr: make([]int64, 1, int(rows)+1),
	}
	for u := range r.NumUsers() {
		for items := range Windows(r.Item[r.Ptr[u]:r.Ptr[u+1]], w) {
			out.Item = append(out.Item, items...)
			out.Ptr = append(out.Ptr, int64(len(out.Item)))
		}
	}
	if len(out.Ptr) > math.MaxInt32 {
		return nil, &fault.Fault{
			Field: "Window", Got: w,
			Problem: fmt.Sprintf("cuts the histories into %d windows, want at most 2^31-1",
				len(out.Ptr)-1),
			Advice: []fault.Change{{Verb: "raise", Field: "Window"}},
		}
	}
	return out, nil
}
