// Package vec holds the kernels of the read path: float32 dot products and scans, dot products of
// int8 rows with an int16 query, and the bounds of scores that follow from them (see [Bounds]).
//
// # Conventions
//
// Matrices are row-major without gaps: row i of an n×k matrix m is m[i*k : (i+1)*k]. A function
// whose name ends in To writes to its first argument, dst, which the caller allocates and which
// must not overlap the other arguments. Lengths that do not fit are a bug of the caller and panic.
//
// # Bits
//
// [Dot] fixes the order of its additions (see there), and every product is rounded to float32
// before it is added, so that no compiler may fuse the two. [ScanTo] gives the very bits of Dot for
// every row, and so does every kernel. The products of int8 rows are exact integers. So scores are
// equal on all levels of amd64 and on arm64, and equal scores stay ties wherever the item stands.
//
// # Kernels
//
// The kernel in plain Go is compiled in every build and calls no other kernel. Every other kernel
// is tested against it. The others are in assembly: AVX2 and AVX-512 (with VNNI) on amd64, NEON
// (with the dot products of Armv8.2) on arm64. The best kernel that the processor and the operating
// system support is chosen once, when the program starts. The environment variable GSIMC_CPU =
// generic, avx2 or avx512 sets an upper bound.
package vec

import "github.com/gsimc/gsimc/internal/num/simd"

// kernel holds the functions for one kind of processor. Their callers check the lengths.
type kernel struct {
	name     string
	dot      func(a, b []float32) float32
	scan     func(dst, rows, q []float32)
	scanRows func(dst, rows []float32, numbers []int32, q []float32)
	squares  func(dst, rows, p []float32)
	drop     func(c *Candidates, floor float32) int
	count    func(v []float32, floor float32) int

	collect     collector
	collectFive collector // nil if five bits are no faster than int8 with this kernel
	quantised   bool      // see QuantisedScans
	smallFaster bool      // see SmallDigitsFaster
}

// collector appends candidates of a block to c, which has room for all rows of the block, and
// returns their number.
type collector func(
	c *Candidates, block []byte, q *Digits, b *Bounds, floor float32, first int32, next []byte,
) int

var generic = kernel{
	name: "generic", dot: dotGeneric, scan: scanGeneric, scanRows: scanRowsGeneric,
	squares: squaresGeneric,
	collect: collectDots(dotsGeneric), collectFive: collectDots(fiveDotsGeneric),
	drop: dropGeneric, count: countGeneric,
}

// inUse is the kernel in use. Tests change it.
var inUse = simd.Best(kernels())

// KernelName names the kernel in use, for logs and benchmark headers: generic, avx2, avx512 or
// neon.
func KernelName() string { return inUse.name }

// Dot returns a·b in float32. The lengths must be equal.
//
// There are 32 sums; product i is added to sum i mod 32, in rising i, and the sums are added up in
// halves: s_i + s_{i+16} for i < 16, of those again s_i + s_{i+8} for i < 8, and so on.
func Dot(a, b []float32) float32 {
	if len(a) != len(b) {
		panic("vec: Dot of vectors of different lengths")
	}
	return inUse.dot(a, b)
}

// DotRoundings is the number of roundings that any term of a Dot of length k goes through: the
// product, the additions to its sum, and those of the halves. So the error of Dot is at most γ
// Σ|a_i b_i| with γ = r/(2^24 − r), r = DotRoundings(k) (N. Higham, "Accuracy and Stability of
// Numerical Algorithms", section 3.1), besides what underflow takes away, at most 2^-150 for each
// product.
func DotRoundings(k int) int { return 1 + (k+lanes-1)/lanes + 5 }

// ScanTo writes the n = len(dst) dot products of the rows of the n×k matrix rows with q, k =
// len(q):
//
//	dst[i] = rows[i*k : (i+1)*k] · q
//
// The work is O(nk) and reads rows once, from front to back.
func ScanTo(dst, rows, q []float32) {
	if len(rows) != len(dst)*len(q) {
		panic("vec: ScanTo of a matrix that is not len(dst) × len(q)")
	}
	inUse.scan(dst, rows, q)
}

// ScanRowsTo is ScanTo for the rows with the given numbers, one for each element of dst: it writes
//
//	dst[j] = rows[i*k : (i+1)*k] · q,  i = numbers[j]
//
// It panics if a number is not that of a row.
func ScanRowsTo(dst, rows []float32, numbers []int32, q []float32) {
	if len(dst) != len(numbers) {
		panic("vec: ScanRowsTo of more or fewer rows than len(dst)")
	}
	for _, i := range numbers {
		if i < 0 || (int(i)+1)*len(q) > len(rows) {
			panic("vec: ScanRowsTo of a row that is not there")
		}
	}
	inUse.scanRows(dst, rows, numbers, q)
}
