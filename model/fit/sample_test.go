package fit_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/mat"

	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/kalman/dynamics"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/model/local"
	"github.com/gsimc/gsimc/spectral"
)

const items = 64

// randomBasis draws an orthonormal basis of full rank, with degrees up to 50.
func randomBasis(rng *rand.Rand) *spectral.Basis {
	a := mat.NewDense(items, items, nil)
	b := &spectral.Basis{
		N: items, K: items, Kappa: make([]float64, items), Lambda: make([]float64, items),
		Scale: slices.Repeat([]float64{1}, items),
	}
	for i := range items {
		for j := range items {
			a.Set(i, j, rng.NormFloat64())
		}
		b.Degrees = append(b.Degrees, rng.Int64N(51))
	}
	var qr mat.QR
	qr.Factorize(a)
	var q mat.Dense
	qr.QTo(&q)
	b.U = q.RawMatrix().Data
	return b
}

func histories(rng *rand.Rand, users int) []kalman.History {
	all := make([]kalman.History, users)
	for u := range all {
		for at := range 2 + rng.IntN(8) {
			all[u] = append(all[u], kalman.Event{
				Item: rng.Int32N(items), Weight: 1 + rng.Float32(), Time: int64(at),
			})
		}
	}
	return all
}

// TestSampleRanksAsTheModel: the positions of a sample have the items and the scores that the
// finished model gives, for the rank of the basis and for smaller ones.
func TestSampleRanksAsTheModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(36, 1))
	b := randomBasis(rng)
	h := fit.Histories{Train: slices.Values(histories(rng, 100)), Validation: histories(rng, 30)}
	spec := model.DefaultSpec()
	spec.TrainUsers, spec.DegreeRescale = 100, 0.5
	spec.Dynamics = model.DynamicsSpec{
		Kind: model.DynamicsLearned, Bands: []kalman.Band{{Rho: 0.5}, {Rho: 0.9}}, Ridge: 1,
	}
	x := itemsOf(b, spec.DegreeRescale)
	e := fit.EncoderRows(x.Basis, x.EncoderScale)
	chosen := &fit.Spec{Bands: spec.Dynamics.Bands, Ridge: 1, Local: local.Default()}
	counts := h.Successions(b.Degrees, chosen.Local.Neighbours)
	s := fit.NewSample(x, chosen, counts, h.Validation, e)
	moments, err := dynamics.NewMoments(items, h.Train, dynamics.Options{Bands: chosen.Bands})
	check.Must(t, err)
	normal := moments.Project(e, items, nil)
	for _, part := range []struct{ bands, rank int }{
		{normal.R, items}, {normal.R, 16}, {normal.R - 1, 16},
	} {
		readout := check.Get(normal.Prefix(part.bands, part.rank).Solve(chosen.Ridge))(t)
		spec.Dynamics.Bands = chosen.Bands[:part.bands]
		m := check.Get(model.New(spec, b.Prefix(part.rank), names(), h))(t)
		var want []local.Position
		for _, history := range h.Validation {
			want = append(want, positions(m, history, counts, chosen.Local.Events)...)
		}
		got := s.Rank(readout)
		for at := range got { // the model lists all items, also those below the target
			want[at].Top = slices.DeleteFunc(want[at].Top, func(s ranking.Scored) bool {
				return s.Score < want[at].Target.Score
			})
			slices.SortFunc(got[at].Top[1:], ranking.Compare)
		}
		if d := cmp.Diff(want, got, cmpopts.EquateApprox(1e-3, 1e-5)); d != "" {
			t.Errorf("%+v: positions (-model +sample):\n%s", part, d)
		}
		if most := fit.ChoicePositions(h.Validation, items); len(got) > most || len(got) < most/2 {
			t.Errorf("%d positions, and at most %d are announced", len(got), most)
		}
	}
}

func names() []string {
	ids := make([]string, items)
	for i := range ids {
		ids[i] = fmt.Sprintf("%02d", i)
	}
	return ids
}

// positions are those of a history by a model without a local term.
func positions(
	m *model.Model, h kalman.History, counts *local.Successions, events int,
) (all []local.Position) {
	s, q, f := m.NewState(), m.NewQuery(), local.NewFinder(items, counts, events)
	f.Walk(h, fit.SampleUserPositions, func(_ int, p local.Position) {
		m.QueryTo(q, s, model.EstimatorBGS)
		p.Target.Score = m.Score(p.Target.Item, q)
		p.Top = m.TopN(nil, q, local.TopLength, f.Seen)
		for at := range p.Near {
			p.Near[at].Score = m.Score(p.Near[at].Item, q)
		}
		all = append(all, p)
	}, func(e kalman.Event) { m.Fold(s, e) })
	return all
}

func TestSampleOf(t *testing.T) {
	for _, c := range []struct{ histories, wanted, most, users, each int }{
		{0, 100, 10, 0, 10}, {5, 100, 10, 5, 10}, {30, 100, 10, 30, 3}, {99, 100, 10, 99, 1},
		{250, 100, 10, 100, 1},
	} {
		all := make([]kalman.History, c.histories)
		for u := range all {
			all[u] = kalman.History{{Item: int32(u)}}
		}
		users, each := fit.SampleOf(all, c.wanted, c.most)
		if len(users) != c.users || each != c.each {
			t.Errorf("%+v: %d users with %d events", c, len(users), each)
		}
		if c.histories == 250 && (users[1][0].Item != 2 || users[99][0].Item != 247) {
			t.Errorf("users %d and %d, want them evenly spaced", users[1][0].Item,
				users[99][0].Item)
		}
	}
}
