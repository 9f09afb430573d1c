package spectral

import (
	"fmt"
	"math"
)

// MaxWindow is the largest Graph.Window.
const MaxWindow = 10000

// windowed returns r with a row for each window of a user's history: of w consecutive events, every w/2 events, the last
// one at the end of the history. A history of at most w events is one window. w = 0 returns r itself.
func (r *Incidence) windowed(w int) (*Incidence, error) {
	if w == 0 {
		return r, nil
	}
	out := &Incidence{NumItems: r.NumItems, Ptr: []int64{0}}
	for u := range r.NumUsers() {
		items := r.Item[r.Ptr[u]:r.Ptr[u+1]]
		for start := 0; ; start += w / 2 {
			last := start+w >= len(items)
			if last {
				start = max(0, len(items)-w)
			}
			out.Item = append(out.Item, items[start:min(start+w, len(items))]...)
			out.Ptr = append(out.Ptr, int64(len(out.Item)))
			if last {
				break
			}
		}
	}
	if len(out.Ptr) > math.MaxInt32 {
		return nil, fmt.Errorf("%d windows of %d events: at most 2^31-1, so take longer windows", len(out.Ptr)-1, w)
	}
	return out, nil
}
