package gemm

import "golang.org/x/sys/cpu"

// The kernels in assembly hold a tile of two vector registers' width and read a
// row of B's panel once for all rows of A: 12 rows fill 24 of the 32 registers
// of AVX-512, 6 rows 12 of the 16 of AVX2. x/sys/cpu knows a feature only if the
// operating system saves its registers.
var (
	hasAVX2   = cpu.X86.HasAVX2 && cpu.X86.HasFMA
	hasAVX512 = hasAVX2 && cpu.X86.HasAVX512F
)

// levels returns the versions that this processor can run, the best last.
func levels[K any](plain, avx2, avx512 K) []K {
	switch {
	case hasAVX512:
		return []K{plain, avx2, avx512}
	case hasAVX2:
		return []K{plain, avx2}
	}
	return []K{plain}
}

func kernels64() []kernel[float64] {
	return levels(
		generic[float64](),
		kernel[float64]{name: "avx2", mr: 6, nr: 8, tile: tile64AVX2},
		kernel[float64]{name: "avx512", mr: 12, nr: 16, tile: tile64AVX512},
	)
}

func kernels32() []kernel[float32] {
	return levels(
		generic[float32](),
		kernel[float32]{name: "avx2", mr: 6, nr: 16, tile: tile32AVX2},
		kernel[float32]{name: "avx512", mr: 12, nr: 32, tile: tile32AVX512},
	)
}

func rotateKernels() []rotateKernel {
	return levels(rotateKernel{"generic", rotateGeneric}, rotateKernel{"avx2", rotateAVX2},
		rotateKernel{"avx512", rotateAVX512})
}

func pairsKernels() []pairsKernel {
	return levels(
		pairsGeneric,
		pairsKernel{"avx2", pairsBy(sumAVX2, addAVX2, StripWidth), pairs32AVX2},
		pairsKernel{"avx512", pairsBy(sumAVX512, addAVX512, StripWidth), pairs32AVX512},
	)
}

func foldKernels() []foldKernel {
	return levels(foldKernel{"generic", foldGeneric}, foldKernel{"avx2", foldAVX2},
		foldKernel{"avx512", foldAVX512})
}

//go:noescape
func foldAVX2(kept, x, sum []FoldRow, steps []FoldStep)

//go:noescape
func foldAVX512(kept, x, sum []FoldRow, steps []FoldStep)

// The functions pairs32… are values of pairsKernel.single.

//go:noescape
func pairs32AVX2(dst, x []float32, rows []int32, ends []int64, weights []float32)

//go:noescape
func pairs32AVX512(dst, x []float32, rows []int32, ends []int64, weights []float32)

// The sums and additions of rows of StripWidth elements, with the bits of the plain ones; see
// pairsBy.

//go:noescape
func sumAVX2(sum, x []float64, rows []int32)

//go:noescape
func sumAVX512(sum, x []float64, rows []int32)

//go:noescape
func addAVX2(dst, sum []float64, rows []int32)

//go:noescape
func addAVX512(dst, sum []float64, rows []int32)

//go:noescape
func rotateAVX2(strip, c, s []float64)

//go:noescape
func rotateAVX512(strip, c, s []float64)

// The functions below are kernel.tile, see there.

//go:noescape
func tile64AVX2(k int, alpha float64, a []float64, outer, inner int,
	b, c []float64, stride int, next *ahead[float64])

//go:noescape
func tile64AVX512(k int, alpha float64, a []float64, outer, inner int,
	b, c []float64, stride int, next *ahead[float64])

//go:noescape
func tile32AVX2(k int, alpha float32, a []float32, outer, inner int,
	b, c []float32, stride int, next *ahead[float32])

//go:noescape
func tile32AVX512(k int, alpha float32, a []float32, outer, inner int,
	b, c []float32, stride int, next *ahead[float32])
