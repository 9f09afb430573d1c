package model

import (
	"fmt"

	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model/local"
)

// Query holds the numbers of a user by which the items are scored:
//
//	ŷ_j = v_j·q + b_j,    v_j = d_j^{t/2} u_j
//
// It belongs to the model that made it. [Model.QueryTo] may fill it again and again.
type Query struct {
	Spectrum []float32       // q, k numbers: the estimate of the spectrum
	Boosts   []ranking.Boost // b, the local term of the items that have one; see package local
}

// NewQuery returns a query of zeros.
func (m *Model) NewQuery() *Query { return &Query{Spectrum: make([]float32, m.k)} }

// QueryTo stores in q the query of a state: the estimate of the user's spectrum, and the local term
// of the newest events.
//
//	EstimatorGS   q = H z, z = Uᵀs    (paper, Section 3)
//	EstimatorBGS  q = x̂              (paper, Section 4)
//
// With learned dynamics the spectrum is q = μ + Σ_b y_b + b + ω h, for any estimator: what is
// expected of the next event, and popularity. In the paper's model another estimator panics.
//
// O(k + events·neighbours of the local term); O(k²) for EstimatorGS with a full covariance, where z
// is rotated back and forth: q = QᵀHQ z.
func (m *Model) QueryTo(q *Query, s *kalman.State, est Estimator) {
	m.transition.queryTo(q.Spectrum, s, est)
	q.Boosts = q.Boosts[:0]
	if m.local == nil || len(s.Recent) == 0 {
		return
	}
	sum := m.localSums.Get().(*local.Sum)
	q.Boosts = m.local.BoostsTo(q.Boosts, s.Recent, sum)
	m.localSums.Put(sum)
	ranking.MultiplyBoosts(q.Boosts, m.factors)
}

func (m *Model) checkQuery(q []float32) {
	if len(q) != m.k {
		panic(fmt.Sprintf("model: rank %d, but query of length %d", m.k, len(q)))
	}
}
