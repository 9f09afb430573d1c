package gemm

import "os"

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

// ahead says what a kernel may fetch into the caches while it works, for what
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
	inUse64     = best(kernels64(), os.Getenv("GSIMC_CPU"))
	inUse32     = best(kernels32(), os.Getenv("GSIMC_CPU"))
	rotateInUse = best(rotators(), os.Getenv("GSIMC_CPU"))
	sumInUse    = best(summers(), os.Getenv("GSIMC_CPU"))
	addInUse    = best(adders(), os.Getenv("GSIMC_CPU"))
	pairsInUse  = best(pairers(), os.Getenv("GSIMC_CPU"))
	foldInUse   = best(folders(), os.Getenv("GSIMC_CPU"))
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

// best picks the last of the kernels that stands no later than the one named
// by bound. They are in rising order of their demands on the processor and
// start with the generic one.
func best[K any](supported []K, bound string) K {
	switch bound {
	case "generic":
		return supported[0]
	case "avx2":
		return supported[min(1, len(supported)-1)]
	}
	return supported[len(supported)-1]
}
