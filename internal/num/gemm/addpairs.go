package gemm

import "fmt"

// Sets are sets of rows of a matrix, checked once: set s has the rows Rows()[ends[s]:ends[s+1]].
type Sets struct {
	rows  []int32
	ends  []int64
	limit int
}

// NewSets returns the sets rows[ends[s]:ends[s+1]] of a matrix with limit rows. It keeps the
// slices. Rows or ends out of range are a bug of the caller and panic.
func NewSets(rows []int32, ends []int64, limit int) Sets {
	for s, end := range ends {
		if end < 0 || end > int64(len(rows)) || s > 0 && end < ends[s-1] {
			panic(fmt.Sprintf("gemm: set %d of rows ends at %d of %d", s-1, end, len(rows)))
		}
	}
	checkRows(limit, rows)
	return Sets{rows: rows, ends: ends, limit: limit}
}

// AddPairs adds to each row of a set the weighted sum of the rows of that set. It takes
// len(weights) sets, from set first on, one after the other:
//
//	dst[i] += weights[s-first] Σ_{j in set s} x[j],   i in set s
//
// This is dst += Rᵀ W R x, where row s of the 0/1 matrix R is set s and W is the diagonal matrix of
// the weights. Each set is summed and added to while its rows are in the cache, and neither Rᵀ nor
// a vector over the sets is formed. dst and x are row-major, limit×width without gaps (limit of
// [NewSets]), and do not overlap. A width of [StripWidth] has fast kernels. The float32 kernels add
// up in another order and differ from the plain one in the last digits.
func AddPairs[T Float](dst, x []T, width int, sets Sets, first int, weights []T) {
	if size := sets.limit * width; width < 1 || len(dst) != size || len(x) != size {
		panic(fmt.Sprintf("gemm: pairs of %d and %d elements, want %d rows of %d",
			len(dst), len(x), sets.limit, width))
	}
	if len(weights) == 0 {
		return
	}
	ends := sets.ends[first : first+len(weights)+1]
	if width == StripWidth {
		switch dst := any(dst).(type) {
		case []float32:
			pairsInUse.single(dst, any(x).([]float32), sets.rows, ends, any(weights).([]float32))
			return
		case []float64:
			pairsInUse.double(dst, any(x).([]float64), sets.rows, ends, any(weights).([]float64))
			return
		}
	}
	pairsBy(sumGeneric[T], addGeneric[T], width)(dst, x, sets.rows, ends, weights)
}

// pairs is AddPairs with checked arguments.
type pairs[T Float] func(dst, x []T, rows []int32, ends []int64, weights []T)

// A pairsKernel is AddPairs for rows of StripWidth elements on one kind of processor.
type pairsKernel struct {
	name   string
	double pairs[float64]
	single pairs[float32]
}

var pairsGeneric = pairsKernel{
	"generic", pairsBy(sumGeneric[float64], addGeneric[float64], StripWidth),
	pairsBy(sumGeneric[float32], addGeneric[float32], StripWidth),
}

// pairsBy returns AddPairs for rows of the given width, made of two functions: sumRows sets sum to
// the sum of the given rows of x, in their order; addRows adds sum to the given rows of dst.
func pairsBy[T Float](
	sumRows func(sum, x []T, rows []int32), addRows func(dst, sum []T, rows []int32), width int,
) pairs[T] {
	return func(dst, x []T, rows []int32, ends []int64, weights []T) {
		sum := make([]T, width)
		for s, w := range weights {
			set := rows[ends[s]:ends[s+1]]
			sumRows(sum, x, set)
			for j := range sum {
				sum[j] *= w
			}
			addRows(dst, sum, set)
		}
	}
}

func sumGeneric[T Float](sum, x []T, rows []int32) {
	clear(sum)
	for _, r := range rows {
		for j, v := range x[int(r)*len(sum):][:len(sum)] {
			sum[j] += v
		}
	}
}

func addGeneric[T Float](dst, sum []T, rows []int32) {
	for _, r := range rows {
		at := dst[int(r)*len(sum):][:len(sum)]
		for j, v := range sum {
			at[j] += v
		}
	}
}

// checkRows panics if one of the rows is not in [0, limit).
func checkRows(limit int, rows []int32) {
	var h0, h1, h2, h3 uint32 // four chains of comparisons run side by side
	at := 0
	for ; at+4 <= len(rows); at += 4 {
		four := rows[at : at+4 : at+4]
		h0, h1 = max(h0, uint32(four[0])), max(h1, uint32(four[1]))
		h2, h3 = max(h2, uint32(four[2])), max(h3, uint32(four[3]))
	}
	for _, r := range rows[at:] {
		h0 = max(h0, uint32(r))
	}
	highest := max(h0, h1, h2, h3)
	if len(rows) > 0 && int(highest) >= limit {
		panic(fmt.Sprintf("gemm: row %d of %d", int32(highest), limit))
	}
}
