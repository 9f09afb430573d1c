package gemm

import "fmt"

// FoldWidth is the number of elements of a row of [Fold]: two cache lines.
const FoldWidth = 32

// FoldRow is a row of [Fold].
type FoldRow = [FoldWidth]float32

// FoldStep is one step of [Fold]: two rows and three factors.
type FoldStep struct {
	From, To int32
	A, B, C  float32
}

// Fold runs a linear recursion on a row y and adds multiples of y to the rows of sum.
// One step is
//
//	y = A·y + B·x[From]
//	sum[To] += C·y
//
// The first step starts from y = 0. If kept is not nil, kept[t] is set to the y of
// step t. The tables must not overlap. Rows are prefetched some steps ahead, so a
// call should have many steps; several recursions fit in one call if each begins
// with A = 0. Kernels differ in the last digits. Rows outside of the tables are a
// bug of the caller and panic before anything is read.
func Fold(kept, x, sum []FoldRow, steps []FoldStep) {
	if len(steps) == 0 {
		return
	}
	if kept != nil && len(kept) < len(steps) {
		panic(fmt.Sprintf("gemm: %d steps of a fold, but %d rows to keep them",
			len(steps), len(kept)))
	}
	for i := range steps {
		if s := &steps[i]; uint(s.From) >= uint(len(x)) || uint(s.To) >= uint(len(sum)) {
			panic(fmt.Sprintf("gemm: fold from row %d of %d to row %d of %d",
				s.From, len(x), s.To, len(sum)))
		}
	}
	foldInUse.fold(kept, x, sum, steps)
}

// A foldKernel is Fold on one kind of processor, for checked rows and at least one
// step.
type foldKernel struct {
	name string
	fold func(kept, x, sum []FoldRow, steps []FoldStep)
}

func foldGeneric(kept, x, sum []FoldRow, steps []FoldStep) {
	var y FoldRow
	for t := range steps {
		s := &steps[t]
		from, to := &x[s.From], &sum[s.To]
		for j := range y {
			y[j] = s.A*y[j] + s.B*from[j]
			to[j] += s.C * y[j]
		}
		if kept != nil {
			kept[t] = y
		}
	}
}
