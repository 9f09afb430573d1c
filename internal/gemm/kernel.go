package gemm

import "github.com/gsimc/gsimc/internal/simd"

// A kernel is what an implementation for one kind of processor provides.
type kernel[T Float] struct {
	name   string
	mr, nr int // shape of a tile of C

	// tile sets C += alpha·A·B for an mr×nr tile of C: element (i, l) of A is
	// a[i*outer+l*inner], (l, j) of B is b[l*nr+j], (i, j) of C is c[i*stride+j],
	// for l < k. Each element is Σ_l A_il B_lj in rising l; then it is scaled and
	// added. Lengths are not checked.
	tile func(k int, alpha T, a []T, outer, inner int, b, c []T, stride int, next *ahead[T])
}

// ahead tells which memory a kernel may fetch into the caches while it works, for what
// comes next: with every step the two cache lines at a, which then moves on by
// step elements and after each 16th step by jump more, and with each 16th step a row
// of a panel at b. It does not change the result.
//
// The assembly knows the layout.
type ahead[T Float] struct {
	a, b       []T
	step, jump int
}

// The kernels in use, set once when the program starts. Tests change them.
var (
	inUse64     = simd.Best(kernels64())
	inUse32     = simd.Best(kernels32())
	rotateInUse = simd.Best(rotators())
	pairsInUse  = simd.Best(pairers())
	foldInUse   = simd.Best(folders())
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
