package model

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/spectral"
)

// The oracles of this file are the definitions, in float64 and without any of the shortcuts that
// the package takes.

// denseScores is ŷ = D^{t/2} U H Uᵀ D^{−t/2} s in float64 on the whole signal (paper, Section 3),
// right to left.
func denseScores(spec Spec, b *spectral.Basis, h History) []float64 {
	u := mat.NewDense(b.N, b.K, b.U)
	response := make([]float64, b.K)
	spec.Filter.ResponseTo(response, b.Lambda)
	s, spectrum, y := mat.NewVecDense(b.N, nil), mat.NewVecDense(b.K, nil),
		mat.NewVecDense(b.N, nil)
	for i, e := range h {
		s.ScaleVec(fade(spec, h, i), s)
		s.SetVec(int(e.Item), s.AtVec(int(e.Item))+float64(e.Weight))
	}
	for i, d := range b.Degrees {
		s.SetVec(i, s.AtVec(i)*math.Pow(math.Max(1, float64(d)), -spec.DegreeRescale/2))
	}
	spectrum.MulVec(u.T(), s)
	spectrum.MulElemVec(spectrum, mat.NewVecDense(b.K, response))
	y.MulVec(u, spectrum)
	for i, d := range b.Degrees {
		y.SetVec(i, y.AtVec(i)*math.Pow(math.Max(1, float64(d)), spec.DegreeRescale/2))
	}
	return y.RawVector().Data
}

// fade is the factor a of event i on what came before it.
func fade(spec Spec, h History, i int) float64 {
	a := spec.Alpha
	if spec.HalfLife > 0 && i > 0 {
		a *= math.Exp2(-float64(h[i].Time-h[i-1].Time) / spec.HalfLife)
	}
	return a
}

// densePrior is the k×k mean of outer products of Uᵀs_full − H Uᵀs_allbutlast in the basis that the
// solver gave.
func densePrior(spec Spec, b *spectral.Basis, validation []History) *mat.Dense {
	n, k := b.N, b.K
	u := mat.NewDense(n, k, b.U)
	response := make([]float64, k)
	spec.Filter.ResponseTo(response, b.Lambda)
	mean := mat.NewDense(k, k, nil)
	for _, h := range validation {
		full, before := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
		for i, e := range h {
			before.CopyVec(full)
			full.ScaleVec(fade(spec, h, i), full)
			scale := math.Pow(math.Max(1, float64(b.Degrees[e.Item])), -spec.DegreeRescale/2)
			full.SetVec(int(e.Item), full.AtVec(int(e.Item))+float64(e.Weight)*scale)
		}
		var zFull, zBefore, hz, delta mat.VecDense
		zFull.MulVec(u.T(), full)
		zBefore.MulVec(u.T(), before)
		hz.MulVec(mat.NewDiagDense(k, response), &zBefore)
		delta.SubVec(&zFull, &hz)
		var outer mat.Dense
		outer.Outer(1/float64(len(validation)), &delta, &delta)
		mean.Add(mean, &outer)
	}
	return mean
}

func diagonalOf(m *mat.Dense) *mat.Dense {
	k, _ := m.Dims()
	d := mat.NewDense(k, 1, nil)
	for j := range k {
		d.Set(j, 0, m.At(j, j))
	}
	return d
}

// denseBGS runs the paper's Section 4 with full matrices in float64 and returns the scores.
func denseBGS(spec Spec, b *spectral.Basis, p0 *mat.Dense, h History) []float64 {
	n, k := b.N, b.K
	u := mat.NewDense(n, k, b.U)
	response := make([]float64, k)
	spec.Filter.ResponseTo(response, b.Lambda)
	identity := func(c float64) *mat.DiagDense {
		d := mat.NewDiagDense(k, nil)
		for j := range k {
			d.SetDiag(j, c)
		}
		return d
	}
	x, z, p := mat.NewVecDense(k, nil), mat.NewVecDense(k, nil), mat.DenseCopyOf(p0)
	for i, event := range h {
		a := fade(spec, h, i)
		e, fe := mat.NewVecDense(k, nil), mat.NewVecDense(k, nil)
		scale := math.Pow(math.Max(1, float64(b.Degrees[event.Item])), -spec.DegreeRescale/2)
		e.ScaleVec(float64(event.Weight)*scale, u.RowView(int(event.Item)))
		fe.MulVec(mat.NewDiagDense(k, response), e)
		x.AddScaledVec(fe, a, x)
		z.AddScaledVec(e, a, z)
		p.Scale(a*a, p)
		p.Add(p, identity(spec.SigmaEta))
		var sum, inverse, gain, rest, left, right mat.Dense
		sum.Add(p, identity(spec.SigmaNu))
		if err := inverse.Inverse(&sum); err != nil {
			panic(err)
		}
		gain.Mul(p, &inverse)
		var innovation, correction mat.VecDense
		innovation.SubVec(z, x)
		correction.MulVec(&gain, &innovation)
		x.AddVec(x, &correction)
		rest.Sub(identity(1), &gain)
		left.Product(&rest, p, rest.T())
		right.Product(&gain, identity(spec.SigmaNu), gain.T())
		p.Add(&left, &right)
	}
	y := mat.NewVecDense(n, nil)
	y.MulVec(u, x)
	for i := range n {
		y.SetVec(i, y.AtVec(i)*math.Pow(math.Max(1, float64(b.Degrees[i])), spec.DegreeRescale/2))
	}
	return y.RawVector().Data
}

// topOracle sorts all scores and cuts.
func topOracle(scores []float32, n int, skip *ranking.Set) []ranking.Scored {
	all := []ranking.Scored{}
	for i, s := range scores {
		if !skip.Has(int32(i)) {
			all = append(all, ranking.Scored{Item: int32(i), Score: s})
		}
	}
	slices.SortStableFunc(all, func(a, b ranking.Scored) int {
		if a.Score > b.Score {
			return -1
		}
		if a.Score < b.Score {
			return 1
		}
		return 0
	})
	return all[:min(n, len(all))]
}
