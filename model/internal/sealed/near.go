package sealed

import (
	"fmt"
	"slices"

	"github.com/gsimc/gsimc/internal/file/safetensors"
)

// Near lists the arrays of the neighbours in content of new items. There are none if no item has
// any: the document is what it was before there was content.
func Near(near [][]int32) []Tensor {
	ptr, all := make([]int64, 1, len(near)+1), slices.Concat(near...)
	for _, list := range near {
		ptr = append(ptr, ptr[len(ptr)-1]+int64(len(list)))
	}
	if len(all) == 0 {
		return nil
	}
	return []Tensor{Numbers("near_offsets", ptr), Numbers("near_items", all)}
}

// ReadNear reads the arrays of [Near] for m new items beside n, with at most most neighbours each.
// After an error of r it returns nil.
func ReadNear(r *safetensors.Reader, m int64, n, most int) [][]int32 {
	if r.Err == nil && !r.Has("near_offsets") {
		return make([][]int32, m)
	}
	ptr := safetensors.Array[int64](r, "near_offsets", m+1)
	all := safetensors.Array[int32](r, "near_items", -1)
	if r.Err != nil {
		return nil
	}
	near := make([][]int32, m)
	for i := range near {
		from, to := ptr[i], ptr[i+1]
		if from < 0 || from > to || to > int64(len(all)) || to-from > int64(most) {
			r.Err = fmt.Errorf("the neighbours of new item %d run from %d to %d of %d, "+
				"want at most %d", i, from, to, len(all), most)
			return nil
		}
		near[i] = all[from:to:to]
		for at, j := range near[i] {
			if j < 0 || int(j) >= n || slices.Contains(near[i][:at], j) {
				r.Err = fmt.Errorf("new item %d is like %d, want different items from 0 to %d",
					i, j, n-1)
				return nil
			}
		}
	}
	return near
}
