package spectral

import (
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// The sizes that the cost is told from are those that the windows have.
func TestWindowedSize(t *testing.T) {
	r := &Incidence{NumItems: 50, Ptr: []int64{0}}
	for _, length := range []int{1, 7, 8, 9, 12, 13, 40, 41} {
		for i := range length {
			r.Item = append(r.Item, int32(i))
		}
		r.Ptr = append(r.Ptr, int64(len(r.Item)))
	}
	for _, w := range []int{0, 2, 7, 8, 41} {
		cut := check.Get(r.windowed(w))(t)
		events, edges, pairs := r.windowedSize(w)
		var want float64
		for u := range cut.NumUsers() {
			d := float64(cut.Ptr[u+1] - cut.Ptr[u])
			want += d * (d + 1) / 2
		}
		if int(events) != len(cut.Item) || int(edges) != cut.NumUsers() || pairs != want {
			t.Errorf("windows of %d: %v events and %v pairs in %v edges, want %d and %v in %d",
				w, events, pairs, edges, len(cut.Item), want, cut.NumUsers())
		}
	}
}
