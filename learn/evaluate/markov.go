package evaluate

import (
	"errors"

	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/evaluate/internal/chain"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model/local"
)

// markovUsers bounds the number of validation users that the constants are chosen on. They are
// evenly spaced.
const markovUsers = 6000

// markov ranks by the local term of package local alone, and items of equal terms by popularity.
// spec, if set, are its constants.
type markov struct{ spec *local.Spec }

func (markov) Name() string { return Markov }
func (markov) Needs() Needs { return Needs{} }

// Rank ranks by the constants that the validation users choose.
func (m markov) Rank(t *Task) error {
	c := newChain(t.Part)
	spec := m.spec
	if spec == nil {
		var err error
		if spec, err = chooseMarkov(t, c); err != nil {
			return err
		}
	}
	c.Fit(spec)
	t.forEachUser(func() func(u int) {
		s := c.Scorer()
		return func(u int) {
			h := train.History(&t.Part.Test, u)
			t.Ranks[u] = s.Rank(h[:len(h)-1], h[len(h)-1].Item, t.Part.Test.Hidden...)
		}
	})
	t.Chosen = map[string]float64{
		"backward": spec.Backward, "fade": spec.Fade, "discount": spec.Discount,
		"source-exponent": spec.SourceExponent, "target-exponent": spec.TargetExponent,
	}
	return nil
}

func (m markov) choose(t *Task) (Method, error) {
	spec, err := chooseMarkov(t, newChain(t.Part))
	return markov{spec}, err
}

func newChain(p *dataset.Partition) *chain.Chain {
	return chain.New(len(p.Items), train.Incidence(p).Degrees(), train.Each(&p.Train))
}

// chooseMarkov returns the constants that are best on the validation users.
func chooseMarkov(t *Task, c *chain.Chain) (*local.Spec, error) {
	if t.Part.Validation.Len() == 0 {
		return nil, errors.New("chooses its constants on the validation users, " +
			"and none has two or more items that a training user has")
	}
	users := &onValidation(t.Part, markovUsers).Test
	return c.Choose(train.Histories(users), markovUsers, users.Hidden...), nil
}
