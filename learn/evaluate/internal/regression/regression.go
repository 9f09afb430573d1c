// Package regression is EASE^R, a linear regression of each item on all others.
package regression

import (
	"gonum.org/v1/gonum/floats"

	"github.com/gsimc/gsimc/learn/evaluate/internal/symmetric"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/spectral"
)

// Model is the item-item model EASE^R (H. Steck, "Embarrassingly Shallow Autoencoders for Sparse
// Data", WWW 2019), which regresses every column of the 0/1 matrix R of the training users on all
// others:
//
//	min ‖R − RB‖² + λ‖B‖²  with  diag B = 0
//	B = I − P diag(1/diag P),   P = (RᵀR + λI)^{-1}
//
// The scores of a user are ŷ = sB for the signal s of the history. The events of the history have
// their weights; those of the training users count as 1, as in every R here. Only −P is kept, and
// of it only a triangle.
type Model struct {
	q        symmetric.Matrix // −P
	diagonal []float64        // of P
}

// New solves for P in the memory of q, which then belongs to the result. There is no other matrix
// of all pairs of items. step, if not nil, is told the number of steps of the inversion that
// are done. O(n³).
func New(
	r *spectral.Incidence, lambda float64, q symmetric.Matrix, step func(done, total int),
) (*Model, error) {
	gramTo(q, r, lambda)
	if err := q.NegInvert(step); err != nil {
		return nil, err
	}
	e := &Model{q: q, diagonal: make([]float64, q.N())}
	for j := range e.diagonal {
		e.diagonal[j] = -q.Row(j)[0]
	}
	return e, nil
}

// gramTo sets g to RᵀR + λI.
func gramTo(g symmetric.Matrix, r *spectral.Incidence, lambda float64) {
	g.Clear()
	for u := range r.NumUsers() {
		items := r.Item[r.Ptr[u]:r.Ptr[u+1]]
		for a, i := range items {
			for _, j := range items[:a] {
				g.Row(int(min(i, j)))[max(i, j)-min(i, j)]++
			}
			g.Row(int(i))[0]++
		}
	}
	for i := range g.N() {
		g.Row(i)[0] += lambda
	}
}

// Scorer computes scores by one model. It is the working memory of one worker.
type Scorer struct {
	*Model
	row    []float64   // of −P
	Scores [][]float64 // for each α
}

// Scorer returns the working memory for scores by this number of values of α.
func (e *Model) Scorer(alphas int) *Scorer {
	s := &Scorer{Model: e, row: make([]float64, e.q.N())}
	for range alphas {
		s.Scores = append(s.Scores, make([]float64, e.q.N()))
	}
	return s
}

// Score sets s.Scores[a] = sB for each α. An event that lies j events back counts its weight times
// α^j; α = 1 does not forget. As B_ij = −P_ij/P_jj off the diagonal, the division comes last.
func (s *Scorer) Score(h model.History, alphas []float64) {
	fades := make([]float64, len(alphas))
	for a := range alphas {
		clear(s.Scores[a])
		fades[a] = 1
	}
	for j := len(h) - 1; j >= 0; j-- {
		s.q.RowTo(s.row, int(h[j].Item))
		s.row[h[j].Item] = 0
		for a, alpha := range alphas {
			floats.AddScaled(s.Scores[a], fades[a]*float64(h[j].Weight), s.row)
			fades[a] *= alpha
		}
	}
	for a := range alphas {
		floats.Div(s.Scores[a], s.diagonal)
	}
}
