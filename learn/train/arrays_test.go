package train_test

import (
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
)

// Histories that are yielded one at a time are those of [train.Histories], in each pass, also in
// one that begins while another is under way.
func TestEach(t *testing.T) {
	plain := dataset.Histories{
		User: []int32{0, 2, 5}, Ptr: []int64{0, 3, 4, 6}, Item: []int32{4, 1, 2, 3, 0, 4},
	}
	timed := plain
	timed.Time = []int64{1, 2, 3, 4, 5, 6}
	timed.Weight = []float32{1, .5, 1, 2, 1, .25}
	for _, h := range []*dataset.Histories{&plain, &timed} {
		var outer, inner []model.History
		for events := range train.Each(h) {
			inner = inner[:0]
			for other := range train.Each(h) {
				inner = append(inner, slices.Clone(other))
			}
			outer = append(outer, slices.Clone(events))
		}
		check.Same(t, train.Histories(h), outer, "a pass")
		check.Same(t, outer, inner, "a pass within it")
	}
	for range train.Each(&plain) {
		break
	}
}
