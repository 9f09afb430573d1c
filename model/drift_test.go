package model

import (
	"math"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/spectral"
)

// Over the hyperedges of the graph the energy inside is tr(UᵀKU) = Σκ, and all of it tr K.
func TestEnergyIsThatOfTheGraph(t *testing.T) {
	const n, rank = 40, 3
	spec := DefaultSpec()
	spec.DegreeExponent = 0           // so that hyperedges weigh alike, as in Energy
	r := shortened(market(3, n, 300)) // histories of one window each
	spec.TrainUsers = int64(r.NumUsers())
	basis, histories := trained(t, spec, r, rank)
	m := mustNewFrom(t, spec, basis, fit.Histories{Train: slices.Values(histories)})
	var inside, trace float64
	for _, kappa := range basis.Kappa {
		inside += kappa
	}
	for i, d := range basis.Degrees {
		trace += basis.Scale[i] * basis.Scale[i] * float64(d)
	}
	if got, want := m.InsideAtTraining(), inside/trace; math.Abs(got-want) > 1e-5*want {
		t.Errorf("inside at training %v, want Σκ/tr K = %v", got, want)
	}
}

// shortened keeps the first DriftWindow items of each user.
func shortened(r *spectral.Incidence) *spectral.Incidence {
	out := &spectral.Incidence{NumItems: r.NumItems, Ptr: []int64{0}}
	for u := range r.NumUsers() {
		items := r.Item[r.Ptr[u]:r.Ptr[u+1]]
		out.Item = append(out.Item, items[:min(len(items), DriftWindow)]...)
		out.Ptr = append(out.Ptr, int64(len(out.Item)))
	}
	return out
}

func TestDrift(t *testing.T) {
	base, extended := extended(t, kinds()["scaled"], 2)
	n := int32(base.NumItems())
	r := market(7, int(n), 300) // other users of the same tastes
	measure := func(m *Model, change func(u, at int, i int32) int32) (*Energy, float64) {
		e := m.NewEnergy()
		for u := range r.NumUsers() {
			h := slices.Clone(r.Item[r.Ptr[u]:r.Ptr[u+1]])
			for at, i := range h {
				h[at] = change(u, at, i)
			}
			e.Add(h)
		}
		return e, e.Drift()
	}
	if _, ratio := measure(base, func(_, _ int, i int32) int32 { return i }); !(ratio >= 0.9) {
		t.Errorf("users like those of the training: ratio %v, want at least 0.9", ratio)
	}
	strange := func(_, at int, i int32) int32 {
		if at%2 == 0 {
			return -1
		}
		return i
	}
	e, ratio := measure(base, strange)
	if !(ratio < 0.75) || e.known >= e.Events {
		t.Errorf("half the events on unknown items: ratio %v, %d of %d known", ratio, e.known,
			e.Events)
	}
	// An item of an extension is outside the basis, as if it were unknown.
	_, same := measure(extended, func(u, at int, i int32) int32 {
		return max(strange(u, at, i), i*int32(at%2)+n*int32(1-at%2))
	})
	check.Same(t, ratio, same, "ratio with items of an extension")
	_, ratio = measure(base, func(u, at int, i int32) int32 {
		return (i*7 + int32(u*13+at*29)) % n
	})
	if !(ratio < 0.9) {
		t.Errorf("other items go together: ratio %v, want less than 0.9", ratio)
	}
	if ratio := base.NewEnergy().Drift(); !math.IsNaN(ratio) {
		t.Errorf("nothing measured: ratio %v, want NaN", ratio)
	}
}
