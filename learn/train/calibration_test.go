package train_test

import (
	"math"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
)

// TestCalibrationOnPieces: the variances hold for test users although each of the many localised
// coordinates is touched by next to no validation user. Variances of the validation users alone are
// wrong by factors of 2 to 90 here, and of 500 in a range of frequencies.
func TestCalibrationOnPieces(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: training takes some seconds")
	}
	for seed := range uint64(2) {
		p := pieces(t, seed, shape{
			body: 4000, cliques: 300, perClique: 50, train: 2, validation: 1, test: 2,
		})
		m := trainOn(t, p, 400).Model
		c := check.Get(m.Calibration(train.Histories(&p.Test)))(t)
		t.Logf("seed %d: %d validation events, between halves %.2f; %d test events, overall %.2f, "+
			"by frequency %.2f", seed, len(p.Validation.Item),
			m.Describe().Deviation.Calibration, c.Events, c.Overall, c.Bands)
		if math.Abs(c.Overall-1) > 0.1 {
			t.Errorf("seed %d: overall %.3f, want 1 within 10 %%", seed, c.Overall)
		}
		for b, x := range c.Bands {
			if math.Abs(x-1) > 0.25 {
				t.Errorf("seed %d: frequencies %d/%d: %.3f, want 1 within 25 %%",
					seed, b+1, len(c.Bands), x)
			}
		}
	}
}

// TestVariancesAreWithheld: of pieces of two or three users a few dozen validation users say
// nothing, so the model has no variances. It answers as ever.
func TestVariancesAreWithheld(t *testing.T) {
	p := pieces(t, 1, shape{
		body: 100, cliques: 300, perClique: 2, train: 14, validation: 1, test: 1,
	})
	m := trainOn(t, p, 200).Model
	read := reread(t, m)
	t.Logf("%d validation users, between halves %.2f", p.Validation.Len(),
		m.Describe().Deviation.Calibration)
	for name, m := range map[string]*model.Model{"trained": m, "read from a file": read} {
		if d := m.Describe().Deviation; d == nil || !d.Withheld || m.HasVariance() ||
			m.TellsUncertainty() {
			t.Errorf("%s: %+v, variances %v, want them withheld", name, d, m.HasVariance())
		}
		if _, err := m.Calibration(train.Histories(&p.Test)); err == nil {
			t.Errorf("%s: no error for the calibration of what is withheld", name)
		}
	}
	check.Same(t, m.Describe().Deviation, read.Describe().Deviation,
		"the file has another deviation")
	trained, opened := m.NewQuery(), read.NewQuery()
	for _, h := range train.Histories(&p.Test) {
		m.QueryTo(trained, m.InitialState(h), model.EstimatorBGS)
		read.QueryTo(opened, read.InitialState(h), model.EstimatorBGS)
		check.MustSame(t, trained, opened, "the file answers otherwise (-trained +read)")
	}
}
