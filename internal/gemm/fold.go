package gemm

import "fmt"

// FoldWidth is the number of elements of a row of [Fold]: two cache lines.
const FoldWidth = 32

// FoldRow is a row of [Fold].
type FoldRow = [FoldWidth]float32

// FoldStep is one step of [Fold]: rows From and To, and three factors.
type FoldStep struct {
	From, To int32
	A, B, C  float32
}

// Fold takes the steps of a linear recursion on a row, one after the other, and
// adds up what comes of it:
//
//	y = A·y + B·x[From]
//	sum[To] += C·y
//
// It starts from y = 0. If kept is not nil, kept[t] is set to the y of step t.
// The tables must not overlap. A row that a step names is fetched some steps
// before, so calls with many steps pay; several recursions can stand in one call,
// each beginning with A = 0. Kernels differ in the last digits. Rows outside of
// the tables are a bug of the caller and are noticed before anything is read.
func Fold(kept, x, sum []FoldRow, steps []FoldStep) {
	if len(steps) == 0 {
		return
	}
	if kept != nil && len(kept) < len(steps) {
		panic(fmt.Sprintf("gemm: %d steps of a fold, but %d rows to keep them", len(steps), len(kept)))
	}
	for i := range steps {
		if s := &steps[i]; uint(s.From) >= uint(len(x)) || uint(s.To) >= uint(len(sum)) {
			panic(fmt.Sprintf("gemm: fold from row %d of %d to row %d of %d", s.From, len(x), s.To, len(sum)))
		}
	}
	foldInUse.fold(kept, x, sum, steps)
}

// A folder is Fold for one kind of processor, with at least one step and the
// rows checked.
type folder struct {
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
