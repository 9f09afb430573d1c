package evaluate_test

import (
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/learntest"
	"github.com/gsimc/gsimc/learn/evaluate"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
)

// The figures of a trained model are those of its method, measured on the same users.
func TestOnValidation(t *testing.T) {
	p := learntest.Checkerboard()
	for _, spec := range []model.Spec{train.Paper(), train.Recommended()} {
		result := check.Get(train.Run(p, train.Config{Spec: spec, Rank: 8}))(t)
		got, popular := evaluate.OnValidation(result.Model, p, 0)
		in := evaluate.Ingredients{Basis: result.Basis, Spec: result.Model.Spec()}
		want := check.Get(evaluate.Run(validationAsTest(p), evaluate.Options{
			Methods: methodsNamed(t, got.Name+","+evaluate.Popularity), Paper: in, Learned: in,
		}))(t)
		check.Same(t, want[0].Ranks, got.Ranks, "%s: ranks", got.Name)
		check.Same(t, want[1].Ranks, popular.Ranks, "popularity: ranks")
		if some, _ := evaluate.OnValidation(result.Model, p, 4); len(some.Ranks) != 4 {
			t.Errorf("4 users: %d ranks", len(some.Ranks))
		}
	}
}
