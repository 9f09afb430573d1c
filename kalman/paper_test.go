package kalman

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gsimc/gsimc/internal/num/gemm"
)

// The tests of this file hold the implementation against Section 4 of the paper, written down in
// dense float64 matrices of full size: n items, the whole signal s, full P.

// dense is the paper's filter with nothing left out.
type dense struct {
	u         *mat.Dense // n×k, orthonormal columns
	h         *mat.DiagDense
	eta, nu   float64
	x         *mat.VecDense // k
	p         *mat.Dense    // k×k
	s         *mat.VecDense // n, the signal
	mean, z   *mat.VecDense // of the newest event: x̄ and z
	cov, gain *mat.Dense    // of the newest event: P̄ and K
	alpha     float64       // 1 in the paper
}

// step folds Δs = w·1_i and keeps the intermediate results.
func (d *dense) step(item int, w float64) {
	n, k := d.u.Dims()
	ds := mat.NewVecDense(n, nil)
	ds.SetVec(item, w)

	// x̄ = a x̂ + F Δs, F = H Uᵀ
	fds, ut := mat.NewVecDense(k, nil), mat.NewVecDense(k, nil)
	ut.MulVec(d.u.T(), ds)
	fds.MulVec(d.h, ut)
	d.mean = mat.NewVecDense(k, nil)
	d.mean.AddScaledVec(fds, d.alpha, d.x)

	// P̄ = a² P + Σ_η
	d.cov = mat.NewDense(k, k, nil)
	d.cov.Scale(d.alpha*d.alpha, d.p)
	d.cov.Add(d.cov, scaledIdentity(k, d.eta))

	// z = Uᵀ(a s + Δs)
	d.s.AddScaledVec(ds, d.alpha, d.s)
	d.z = mat.NewVecDense(k, nil)
	d.z.MulVec(d.u.T(), d.s)

	// K = P̄ (P̄ + Σ_ν)⁻¹
	var sum, inverse mat.Dense
	sum.Add(d.cov, scaledIdentity(k, d.nu))
	if err := inverse.Inverse(&sum); err != nil {
		panic(err)
	}
	d.gain = mat.NewDense(k, k, nil)
	d.gain.Mul(d.cov, &inverse)

	// x̂ = x̄ + K (z − x̄)
	var innovation, correction mat.VecDense
	innovation.SubVec(d.z, d.mean)
	correction.MulVec(d.gain, &innovation)
	d.x = mat.NewVecDense(k, nil)
	d.x.AddVec(d.mean, &correction)

	// P = (I−K) P̄ (I−K)ᵀ + K Σ_ν Kᵀ
	var rest, left, noise mat.Dense
	rest.Sub(scaledIdentity(k, 1), d.gain)
	left.Product(&rest, d.cov, rest.T())
	noise.Product(d.gain, scaledIdentity(k, d.nu), d.gain.T())
	d.p = mat.NewDense(k, k, nil)
	d.p.Add(&left, &noise)
}

func scaledIdentity(k int, c float64) *mat.DiagDense {
	d := mat.NewDiagDense(k, nil)
	for j := range k {
		d.SetDiag(j, c)
	}
	return d
}

// pair is the dense filter and ours, after the same events.
type pair struct {
	oracle *dense
	filter *Filter
	state  *State
	h      []float32
}

const paperItems, paperRank = 12, 5

// newPair draws an orthonormal U, a response in (0, 1] and a diagonal P_0.
func newPair(rng *rand.Rand, alpha float64) *pair {
	n, k := paperItems, paperRank
	u := randomOrthonormal(rng, n, k)
	h, p0 := mat.NewDiagDense(k, nil), mat.NewDense(k, k, nil)
	p := &pair{
		filter: &Filter{P0: make([]float32, k), SigmaEta: 1e-4, SigmaNu: 1e-4, Alpha: alpha},
		h:      make([]float32, k),
	}
	for j := range k {
		p.h[j] = 0.5 + rng.Float32()/2
		p.filter.P0[j] = rng.Float32() * 1e-3
		h.SetDiag(j, float64(p.h[j]))
		p0.Set(j, j, float64(p.filter.P0[j]))
	}
	p.oracle = &dense{
		u: u, h: h, p: p0, alpha: alpha,
		eta: float64(p.filter.SigmaEta), nu: float64(p.filter.SigmaNu),
		x: mat.NewVecDense(k, nil), s: mat.NewVecDense(n, nil),
	}
	p.state = p.filter.NewState()
	return p
}

func (p *pair) row(item int) []float32 { return gemm.ToFloat32(p.oracle.u.RawRowView(item)) }

// TestPaperEquations folds random events into both filters and compares each quantity of an event.
func TestPaperEquations(t *testing.T) {
	for name, alpha := range map[string]float64{"paper": 1, "forgetting": 0.9} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(11, 12))
			p := newPair(rng, alpha)
			for range 40 {
				blindly := clone(p.state)
				item, w := rng.IntN(paperItems), float64(1+rng.IntN(3))
				p.oracle.step(item, w)
				e := p.row(item)
				p.filter.UpdateDiagonal(p.state, e, p.h, float32(w), 0)
				// With Σ_ν → ∞ nothing is learned from z: what is left is the prediction.
				blind := *p.filter
				blind.SigmaNu = MaxVariance
				blind.UpdateDiagonal(&blindly, e, p.h, float32(w), 0)
				p.compare(t, &blindly)
			}
		})
	}
}

// compare compares the states after an event. predicted is that of a filter without a gain.
func (p *pair) compare(t *testing.T, predicted *State) {
	t.Helper()
	o := p.oracle
	// x̄_new = x̂ + F Δs and P̄_new = P + Σ_η
	near(t, "x̄", gemm.ToFloat64(predicted.X), o.mean.RawVector().Data, 1e-5)
	near(t, "P̄", gemm.ToFloat64(predicted.P), diagonal(t, o.cov), 1e-8)
	// z_new = Uᵀ(s + Δs)
	near(t, "z", gemm.ToFloat64(p.state.Z), o.z.RawVector().Data, 1e-5)
	// K = P̄ (P̄ + Σ_ν)⁻¹: read off x̂ = x̄ + K (z − x̄), where x̄ is the dense one
	for j, gain := range diagonal(t, o.gain) {
		mean, z := o.mean.AtVec(j), o.z.AtVec(j)
		if math.Abs(z-mean) < 0.05 {
			continue // the quotient would be all rounding error
		}
		if got := (float64(p.state.X[j]) - mean) / (z - mean); math.Abs(got-gain) > 1e-4 {
			t.Errorf("K[%d] = %v, want %v", j, got, gain)
		}
	}
	// x̂_new = x̄_new + K (z_new − x̄_new) and P_new = (I − K) P̄ (I − K)ᵀ + K Σ_ν Kᵀ
	near(t, "x̂", gemm.ToFloat64(p.state.X), o.x.RawVector().Data, 1e-5)
	near(t, "P", gemm.ToFloat64(p.state.P), diagonal(t, o.p), 1e-8)
}

// A full P_0 = QΛQᵀ: the dense filter with it, and ours in the rotated basis UQ with P_0 = Λ,
// agree: x̂ = Q x̂′, P = Q P′ Qᵀ.
func TestFullCovarianceByRotation(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	p := newPair(rng, 0.95)
	k := paperRank
	q := randomOrthonormal(rng, k, k)
	lambda := mat.NewDiagDense(k, nil)
	for j := range k {
		lambda.SetDiag(j, float64(p.filter.P0[j]))
	}
	p.oracle.p.Product(q, lambda, q.T())

	var rotated, predictor mat.Dense // rows e_iᵀ = u_iᵀQ and (QᵀH u_i)ᵀ
	rotated.Mul(p.oracle.u, q)
	predictor.Product(p.oracle.u, p.oracle.h, q)
	for range 50 {
		item, w := rng.IntN(paperItems), 1+rng.Float64()
		p.oracle.step(item, w)
		p.filter.Update(p.state, gemm.ToFloat32(rotated.RawRowView(item)),
			gemm.ToFloat32(predictor.RawRowView(item)), float32(w), 0)
	}
	var x mat.VecDense
	x.MulVec(q, mat.NewVecDense(k, gemm.ToFloat64(p.state.X)))
	near(t, "Q x̂′", x.RawVector().Data, p.oracle.x.RawVector().Data, 1e-4)
	var cov mat.Dense
	cov.Product(q, mat.NewDiagDense(k, gemm.ToFloat64(p.state.P)), q.T())
	near(t, "Q P′ Qᵀ", cov.RawMatrix().Data, p.oracle.p.RawMatrix().Data, 1e-8)
}

// randomOrthonormal returns the Q factor of a random n×k matrix.
func randomOrthonormal(rng *rand.Rand, n, k int) *mat.Dense {
	a := mat.NewDense(n, k, nil)
	for i := range n {
		for j := range k {
			a.Set(i, j, rng.NormFloat64())
		}
	}
	var qr mat.QR
	qr.Factorize(a)
	var q mat.Dense
	qr.QTo(&q)
	return mat.DenseCopyOf(q.Slice(0, n, 0, k))
}

// diagonal returns the diagonal of m and fails if anything else is in it.
func diagonal(t *testing.T, m *mat.Dense) []float64 {
	t.Helper()
	k, _ := m.Dims()
	d := make([]float64, k)
	for i := range k {
		for j := range k {
			if i != j && math.Abs(m.At(i, j)) > 1e-12 {
				t.Fatalf("the dense matrix is not diagonal: [%d,%d] = %v", i, j, m.At(i, j))
			}
		}
		d[i] = m.At(i, i)
	}
	return d
}

func near(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	for j := range want {
		if !(math.Abs(got[j]-want[j]) <= tol*max(1, math.Abs(want[j]))) {
			t.Errorf("%s[%d] = %v, want %v", what, j, got[j], want[j])
		}
	}
}

func clone(s *State) State {
	c := *s
	c.X, c.Z, c.P =
		append([]float32(nil), s.X...), append([]float32(nil), s.Z...),
		append([]float32(nil), s.P...)
	return c
}
