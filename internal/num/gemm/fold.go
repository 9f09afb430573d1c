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
	NewFolder(len(x), len(sum), steps).Fold(kept, x, sum)
}

// Folder runs the same steps on several tables. It checks the steps once: they must not change.
type Folder struct {
	steps   []FoldStep
	x, sums int // rows that the tables have at least
}

// NewFolder checks steps for tables of x rows and of sums rows.
func NewFolder(x, sums int, steps []FoldStep) Folder {
	for i := range steps {
		if s := &steps[i]; uint(s.From) >= uint(x) || uint(s.To) >= uint(sums) {
			panic(fmt.Sprintf("gemm: fold from row %d of %d to row %d of %d",
				s.From, x, s.To, sums))
		}
	}
	return Folder{steps: steps, x: x, sums: sums}
}

// Fold is [Fold] with the steps of f.
func (f Folder) Fold(kept, x, sum []FoldRow) {
	if kept != nil && len(kept) < len(f.steps) {
		panic(fmt.Sprintf("gemm: %d steps of a fold, but %d rows to keep them",
			len(f.steps), len(kept)))
	}
	if len(x) < f.x || len(sum) < f.sums {
		panic(fmt.Sprintf("gemm: fold from %d to %d rows, but its steps are for %d and %d",
			len(x), len(sum), f.x, f.sums))
	}
	if len(f.steps) > 0 {
		foldInUse.fold(kept, x, sum, f.steps)
	}
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
