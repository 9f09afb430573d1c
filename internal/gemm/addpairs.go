package gemm

import "fmt"

// Sets are sets of rows of a matrix, checked once: set s has the rows Rows()[ends[s]:ends[s+1]].
type Sets struct {
	rows  []int32
	ends  []int64
	limit int
}

// NewSets returns the sets rows[ends[s]:ends[s+1]] of rows of a matrix with limit rows. The slices are kept. Rows or ends that
// are out of range are a bug of the caller and panic.
func NewSets(rows []int32, ends []int64, limit int) Sets {
	for s, end := range ends {
		if end < 0 || end > int64(len(rows)) || s > 0 && end < ends[s-1] {
			panic(fmt.Sprintf("gemm: set %d of rows ends at %d of %d", s-1, end, len(rows)))
		}
	}
	checkRows(limit, rows)
	return Sets{rows: rows, ends: ends, limit: limit}
}

// Len is the number of sets.
func (s Sets) Len() int { return max(0, len(s.ends)-1) }

// AddPairs adds to each row of a set the weighted sum of the rows of the set, for the sets from first on, as many as there are
// weights, one after the other:
//
//	dst[i] += weights[s-first] Σ_{j in set s} x[j],   i in set s
//
// That is dst += Rᵀ W R x for the 0/1 matrix R that has a row for each set. dst and x are matrices of the given width without
// gaps, with as many rows as the sets were made for, and do not overlap. There are fast kernels for 32 float32, which differ
// in the last digits. The others have the bits of [SumRows] and [AddRows].
func AddPairs[T Float](dst, x []T, width int, sets Sets, first int, weights []T) {
	if size := sets.limit * width; width < 1 || len(dst) != size || len(x) != size {
		panic(fmt.Sprintf("gemm: pairs of %d and %d elements, want %d rows of %d", len(dst), len(x), sets.limit, width))
	}
	if len(weights) == 0 {
		return
	}
	ends := sets.ends[first : first+len(weights)+1]
	if dst, ok := any(dst).([]float32); ok && width == StripWidth {
		pairsInUse.single(dst, any(x).([]float32), sets.rows, ends, any(weights).([]float32))
		return
	}
	pairsGeneric(dst, x, width, sets.rows, ends, weights)
}

// A pairer is AddPairs for rows of StripWidth elements, for one kind of processor, with everything checked.
type pairer struct {
	name   string
	single func(dst, x []float32, rows []int32, ends []int64, weights []float32)
}

func pairsOfStrip(dst, x []float32, rows []int32, ends []int64, weights []float32) {
	pairsGeneric(dst, x, StripWidth, rows, ends, weights)
}

func pairsGeneric[T Float](dst, x []T, width int, rows []int32, ends []int64, weights []T) {
	sum := make([]T, width)
	for s, w := range weights {
		set := rows[ends[s]:ends[s+1]]
		SumRows(sum, x, set)
		for j := range sum {
			sum[j] *= w
		}
		AddRows(dst, sum, set)
	}
}
