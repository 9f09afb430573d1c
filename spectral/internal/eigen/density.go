package eigen

import (
	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/spectral/internal/dense"
)

// spectrum estimates the density of the eigenvalues from a short Lanczos run with a random Gaussian
// start block. Ritz value i stands for n/b · ‖S[0:b, i]ᵀ R_0‖² / n eigenvalues, where R_0 is the
// triangular factor of the start block (stochastic Lanczos quadrature; L. Lin, Y. Saad, C. Yang,
// "Approximating Spectral Densities of Large Matrices", SIAM Review 58, 2016).
type spectrum struct {
	theta  []float64 // descending
	counts []float64 // the number of eigenvalues that each stands for
	lo     float64   // a lower bound of the smallest eigenvalue
}

func newSpectrum[T gemm.Float](l *lanczos[T]) (*spectrum, error) {
	theta, s, err := l.ritz()
	if err != nil {
		return nil, err
	}
	weights := dense.New[float64](l.b, l.p)
	dense.TransMul(weights, l.start, dense.Block(s, 0, l.b, 0, l.p))
	counts := dense.ColumnNorms(weights)
	for i, norm := range counts {
		counts[i] = norm * norm / float64(l.b)
	}
	lo := theta[l.p-1] - dense.MaxColumnNorm(l.tail)
	return &spectrum{theta: theta, counts: counts, lo: lo}, nil
}

// above returns the largest Ritz value that about count eigenvalues reach, or the smallest one.
func (s *spectrum) above(count float64) float64 {
	var sum float64
	for i, c := range s.counts {
		if sum += c; sum >= count {
			return s.theta[i]
		}
	}
	return s.theta[len(s.theta)-1]
}

// leading returns the indices of the Ritz values of at least cut, from index without on.
func (s *spectrum) leading(without int, cut float64) []int {
	var numbers []int
	for i := without; i < len(s.theta) && s.theta[i] >= cut; i++ {
		numbers = append(numbers, i)
	}
	return numbers
}
