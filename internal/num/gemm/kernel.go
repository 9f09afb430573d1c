package gemm

import "github.com/gsimc/gsimc/internal/num/simd"

// A kernel is the innermost loop of the products on one kind of processor.
type kernel[T Float] struct {
	name   string
	mr, nr int // shape of a tile of C

	// tile sets C += alpha·A·B for an mr×nr tile of C: element (i, l) of A is
	// a[i*outer+l*inner], (l, j) of B is b[l*nr+j], (i, j) of C is c[i*stride+j],
	// for l < k. Each element is Σ_l A_il B_lj in rising l; then it is scaled and
	// added. Lengths are not checked.
	tile func(k int, alpha T, a []T, outer, inner int, b, c []T, stride int, next *ahead[T])
}

// ahead names the memory that a kernel prefetches for the following tiles. Every step
// prefetches the two cache lines at a and moves a on by step elements, after each 16th
// step by jump more. Each 16th step prefetches a row of a panel at b. Prefetching does
// not change the result.
//
// The assembly relies on the layout of this struct.
type ahead[T Float] struct {
	a, b       []T
	step, jump int
}

// The kernels in use, set once when the program starts. Tests change them.
var (
	inUse64     = simd.Best(kernels64())
	inUse32     = simd.Best(kernels32())
	rotateInUse = simd.Best(rotateKernels())
	pairsInUse  = simd.Best(pairsKernels())
	foldInUse   = simd.Best(foldKernels())
)

// KernelName names the kernels in use, for logs and benchmark headers: generic,
// avx2, avx512 or neon.
func KernelName() string { return inUse64.name }

// inUse returns the kernel for elements of type T.
func inUse[T Float]() *kernel[T] {
	if k, ok := any(&inUse64).(*kernel[T]); ok {
		return k
	}
	return any(&inUse32).(*kernel[T])
}
