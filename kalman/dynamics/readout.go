package dynamics

import (
	"fmt"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/num/vec"
)

// Readout is the result of the regression: the query that is expected after states x_b is μ +
// Σ_b W_b x_b.
type Readout struct {
	R, K int
	W    []float64 // R×K×K; W_b, row-major, maps an encoder row to its part of the query
	Mean []float64 // K, μ
}

// newReadout reads W and μ out of B, (rk+1)×k.
func newReadout(r, k int, b []float64) *Readout {
	out := &Readout{
		R: r, K: k, W: make([]float64, r*k*k), Mean: append([]float64(nil), b[r*k*k:]...),
	}
	for band := range r {
		transpose(out.W[band*k*k:(band+1)*k*k], b[band*k*k:(band+1)*k*k], k)
	}
	return out
}

// transpose sets dst = srcᵀ, k×k, by tiles that fit the caches.
func transpose(dst, src []float64, k int) {
	const tile = 32
	for top := 0; top < k; top += tile {
		for left := 0; left < k; left += tile {
			for i := top; i < min(top+tile, k); i++ {
				for j := left; j < min(left+tile, k); j++ {
					dst[i*k+j] = src[j*k+i]
				}
			}
		}
	}
}

// RowsTo stores the rows W_b e_i, which an event adds to the bands, in dst, n×R×K. With them an
// event costs O(R·K), and a query needs no product with a matrix. The encoder rows
// e are n×k; of each the first K numbers count, so that e also serves the readout of a
// [Normal.Prefix]. O(n·R·K²).
func (r *Readout) RowsTo(dst []float32, e []float32, k int) {
	RowsTo(dst, e, k, gemm.ToFloat32(r.W), r.R, r.K)
}

// RowsTo is [Readout.RowsTo] of the readout w of a number of bands, each rank×rank.
func RowsTo(dst, e []float32, k int, w []float32, bands, rank int) {
	if k < rank || len(e)%k != 0 || len(dst) != len(e)/k*bands*rank {
		panic(fmt.Sprintf("dynamics: %d numbers for %d bands of rank %d from %d in rows of %d",
			len(dst), bands, rank, len(e), k))
	}
	n := len(e) / k
	if n == 1 { // a product of matrices would pack the readout for one row
		vec.ScanTo(dst, w, e[:rank])
		return
	}
	readout := gemm.Matrix[float32]{Rows: bands * rank, Cols: rank, Stride: rank, Data: w}
	clear(dst)
	rows := gemm.Matrix[float32]{Rows: n, Cols: bands * rank, Stride: bands * rank, Data: dst}
	encoder := gemm.Matrix[float32]{Rows: n, Cols: rank, Stride: k, Data: e}
	gemm.MulAdd(rows, 1, gemm.Plain, encoder, gemm.Transposed, readout)
}
