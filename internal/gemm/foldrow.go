package gemm

// FoldWidth is the number of elements of a row of [FoldRow]: two cache lines.
const FoldWidth = 16

// FoldRow takes one step of a linear recursion on a row, and adds up what comes
// of it:
//
//	next = a·x + b·e
//	sum += c·next
//
// next may be x; otherwise the four must not overlap. Kernels differ in the last
// digits.
func FoldRow(next, x, e, sum *[FoldWidth]float64, a, b, c float64) {
	foldInUse.row(next, x, e, sum, a, b, c)
}

// A folder is FoldRow for one kind of processor.
type folder struct {
	name string
	row  func(next, x, e, sum *[FoldWidth]float64, a, b, c float64)
}

func foldGeneric(next, x, e, sum *[FoldWidth]float64, a, b, c float64) {
	for j := range next {
		y := a*x[j] + b*e[j]
		next[j] = y
		sum[j] += c * y
	}
}
