package eigen

import "github.com/gsimc/gsimc/internal/num/gemm"

const (
	// BlockSize is the number of columns of a block. Narrower blocks would need fewer products with
	// K, but gemm has kernels for this width, which take hardly longer.
	BlockSize = gemm.StripWidth

	// probeSteps is the number of block steps of the probe that estimates the spectrum's density.
	probeSteps = 12

	// spaceBytes bounds the Lanczos vectors that are kept to avoid a restart.
	spaceBytes = 1 << 30
)

// Tolerances of the iteration.
const (
	// FinestTolerance is the finest useful tolerance: rounding of float64 leaves residuals that are
	// not far below.
	FinestTolerance = 1e-12

	// SingleTolerance is the tolerance from which on the iteration is in float32, whose rounding
	// leaves residuals below 1e-6.
	SingleTolerance = 5e-6
)

// fewestColumns is the least number of Lanczos vectors with which restarts converge well for rank
// k.
func fewestColumns(k int) int { return k + k/2 + 10*BlockSize }

// SpaceLimit is the number of Lanczos vectors kept for rank k. Three vectors for each wanted pair
// and a few blocks suffice even where eigenvalues lie close to the k-th one. A restart costs more
// products than it saves of other work.
func SpaceLimit(n, k int) int {
	const size = 4 // bytes of an element of float32, the usual type
	return max(fewestColumns(k), min(3*k+16*BlockSize, 2*n/3, spaceBytes/(size*n)))
}

// FitsKrylov tells whether the Krylov space of rank k is well below the whole space. If not,
// [Dense] is at least as fast.
func FitsKrylov(n, k int) bool { return 3*fewestColumns(k) <= 2*n }

// MaxKrylovRank is the largest rank that FitsKrylov for n, at least 1.
func MaxKrylovRank(n int) int {
	k := n
	for k > 1 && !FitsKrylov(n, k) {
		k--
	}
	return k
}

// Typical numbers of an iteration, from graphs of shops, films and clicks. The true ones are known
// only at its end.
const (
	typicalShare  = 1.4 // Lanczos vectors for each wanted pair
	typicalSteps  = 4   // further block steps, fewer for a small rank
	typicalDegree = 4   // products with K for each Lanczos vector
)

// TypicalSpace is the typical number of Lanczos vectors of [Krylov] for rank k.
func TypicalSpace(n, k int) int {
	return min(int(typicalShare*float64(k))+min(typicalSteps*BlockSize, 2*k+2*BlockSize),
		SpaceLimit(n, k))
}

// TypicalProducts is the typical number of vectors that [Krylov] multiplies with K for rank k.
func TypicalProducts(n, k int) float64 {
	return float64(probeSteps*BlockSize + typicalDegree*TypicalSpace(n, k) + k)
}
