package evaluate

import (
	"errors"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/model/local"
	"github.com/gsimc/gsimc/spectral"
)

// ModelMethod ranks by the scores of a model, in the same arithmetic as a server.
type ModelMethod struct {
	family string
	filter string     // "" for learned dynamics
	given  *constants // of learned dynamics; nil: they are chosen
}

// constants are those of learned dynamics that a model chooses.
type constants struct {
	rank     int
	dynamics model.DynamicsSpec
	local    local.Spec
}

// Filtered returns the method of a family, [GS], [BGS] or [BGSOnline], with a filter of package
// spectral.
func Filtered(family, filter string) ModelMethod {
	return ModelMethod{family: family, filter: filter}
}

// Names of the constants that learned dynamics choose, in Result.Chosen.
const (
	ChosenRank  = "rank"
	ChosenRidge = "ridge"
	ChosenBands = "bands" // their number
)

// LearnedDynamics returns the method [Dynamics].
func LearnedDynamics() ModelMethod { return ModelMethod{family: Dynamics} }

// Name returns the family and the filter.
func (m ModelMethod) Name() string {
	if m.Learned() {
		return m.family
	}
	return m.family + " " + m.filter
}

// Learned tells whether the model has learned dynamics.
func (m ModelMethod) Learned() bool { return m.filter == "" }

// Needs returns the ingredients of the method.
func (m ModelMethod) Needs() Needs { return Needs{Paper: !m.Learned(), Learned: m.Learned()} }

// Rank implements [Method].
func (m ModelMethod) Rank(t *Task) error {
	fitted, err := m.fit(t)
	if err != nil {
		return err
	}
	if t.Options.Fitted != nil {
		t.Options.Fitted(fitted)
	}
	t.progress(0)
	if !t.Options.NoCalibration {
		if t.Calibration, err = newCalibration(fitted, train.Histories(&t.Part.Test)); err != nil {
			return err
		}
	}
	m.rankBy(fitted, &t.Part.Test, t.Ranks, t.progress)
	return nil
}

// fit builds the model.
func (m ModelMethod) fit(t *Task) (*model.Model, error) {
	from := t.Options.Paper
	if m.Learned() {
		from = t.Options.Learned
	} else {
		from.Spec.Filter.Name = m.filter
	}
	if from.Basis == nil {
		return nil, errors.New("needs a basis")
	}
	histories := train.LearnFrom(t.Part)
	histories.Progress = t.Options.Progress
	histories.Candidates = from.Candidates
	if c := m.given; c != nil {
		histories.Candidates, histories.KeepLocal = fit.Candidates{}, true
		from.Basis = from.Basis.Prefix(min(c.rank, from.Basis.K))
		from.Spec.Dynamics, from.Spec.Local = c.dynamics, c.local
		t.setChosen(from.Basis.K, c.dynamics.Ridge, len(c.dynamics.Bands))
	}
	histories.Chosen = func(c *fit.Choice) map[string]string {
		t.setChosen(c.Rank, c.Ridge, c.Bands)
		return nil
	}
	return model.New(from.Spec, from.Basis, t.Part.Items, histories)
}

// setChosen stores constants of learned dynamics.
func (t *Task) setChosen(rank int, ridge float64, bands int) {
	t.Chosen = map[string]float64{
		ChosenRank: float64(rank), ChosenRidge: ridge, ChosenBands: float64(bands),
	}
}

// choose implements chooser. A method with a filter has nothing to choose.
func (m ModelMethod) choose(t *Task) (Method, error) {
	if !m.Learned() {
		return m, nil
	}
	fitted, err := m.fit(t)
	if err != nil {
		return nil, err
	}
	if t.Options.Fitted != nil {
		t.Options.Fitted(fitted)
	}
	spec := fitted.Spec()
	m.given = &constants{fitted.Rank(), spec.Dynamics, spec.Local}
	return m, nil
}

// rankBy stores the ranks of the targets of the users of h by a model.
func (m ModelMethod) rankBy(
	fitted *model.Model, h *dataset.Histories, ranks []int32, progress func(done int),
) {
	forEach(len(ranks), progress, func() func(u int) {
		scores, q := make([]float32, fitted.NumItems()), fitted.NewQuery()
		return func(u int) {
			history := train.History(h, u)
			m.queryTo(q, fitted, history[:len(history)-1])
			fitted.ScoresTo(scores, q)
			ranks[u] = rankLast(scores, h, u)
		}
	})
}

// queryTo stores in q the query that the method makes of a history.
func (m ModelMethod) queryTo(q *model.Query, fitted *model.Model, h model.History) {
	state, estimator := fitted.NewState(), model.EstimatorBGS
	switch {
	case m.family == GS:
		estimator = model.EstimatorGS
	case m.family == BGS && len(h) > 0: // the last history item is the online update
		state = fitted.InitialState(h[:len(h)-1])
		h = h[len(h)-1:]
	}
	for _, e := range h {
		fitted.Fold(state, e)
	}
	fitted.QueryTo(q, state, estimator)
}

// bestGS is GS-IMC with the filter of the largest NDCG@10 on the validation users. Ties go to the
// first filter. filter, if set, is the choice.
type bestGS struct{ filter string }

func (bestGS) Name() string { return BestGS }
func (bestGS) Needs() Needs { return Needs{Paper: true} }

func (m bestGS) Rank(t *Task) error {
	if m.filter != "" {
		t.Variant = m.filter
		return Filtered(GS, m.filter).Rank(t)
	}
	users := &t.Part.Validation
	if users.Len() == 0 {
		return errors.New(
			"chooses its filter on the validation users, and none has two or more items " +
				"that a training user has")
	}
	best := -1.0
	ranks := make([]int32, users.Len())
	for i, filter := range spectral.FilterNames {
		m := Filtered(GS, filter)
		fitted, err := m.fit(t)
		if err != nil {
			return fault.In(filter, err)
		}
		m.rankBy(fitted, users, ranks, func(int) {})
		if ndcg := MetricAt(10, ranks).NDCG; ndcg > best {
			best, t.Variant = ndcg, filter
			m.rankBy(fitted, &t.Part.Test, t.Ranks, func(int) {})
		}
		t.progress(len(t.Ranks) * (i + 1) / len(spectral.FilterNames))
	}
	return nil
}

func (m bestGS) choose(t *Task) (Method, error) {
	if err := m.Rank(t); err != nil {
		return nil, err
	}
	return bestGS{filter: t.Variant}, nil
}
