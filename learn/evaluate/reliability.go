package evaluate

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/model"
)

// Reliability compares the standard deviations that answers report for scores with the errors of
// these scores, for items that the users took afterwards and for items drawn at random. There is a
// query before each event of a test user. The event and the one after it tell the error of the
// query (see model.ScoreErrors), and the one after these two is the target.
type Reliability struct {
	Target []Tenth `json:"target"`
	Random []Tenth `json:"random"`
}

// Tenth is a tenth of the scores by predicted standard deviation.
type Tenth struct {
	Scores   int     `json:"scores"`
	StdDev   float64 `json:"stddev"`               // predicted, in the mean
	Variance float64 `json:"variance"`             // predicted, in the mean
	Error    float64 `json:"squared_error"`        // in the mean; negative values are noise
	ErrorErr float64 `json:"squared_error_stderr"` // standard error of Error
}

// The size of a [Reliability].
const (
	reliabilityUsers  = 2000 // at most, evenly spaced
	reliabilityEvents = 50   // the first ones of each, at most
	randomItems       = 10   // drawn for each query
	tenths            = 10
)

// newReliability measures m, which must know its variance.
func newReliability(m *model.Model, test []model.History) (*Reliability, error) {
	users := min(len(test), reliabilityUsers)
	target, random := make([][]model.ScoreError, users), make([][]model.ScoreError, users)
	failed := make([]error, users)
	parallel.Tasks(users, func(u int) {
		h, rng := test[u*len(test)/users], rand.New(rand.NewPCG(uint64(u), 0))
		h = h[:min(len(h), reliabilityEvents)]
		items := make([]int32, randomItems, randomItems+1)
		draw := func(t int) []int32 {
			items = items[:randomItems]
			for j := range items {
				items[j] = rng.Int32N(int32(m.NumItems()))
			}
			if t+2 < len(h) {
				items = append(items, h[t+2].Item)
			}
			return items
		}
		failed[u] = m.ScoreErrors(h, draw, func(_ int, errors []model.ScoreError) {
			random[u] = append(random[u], errors[:randomItems]...)
			target[u] = append(target[u], errors[randomItems:]...)
		})
	})
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	return &Reliability{
		Target: byTenth(slices.Concat(target...)), Random: byTenth(slices.Concat(random...)),
	}, nil
}

// byTenth sorts the scores by predicted variance and cuts them into tenths.
func byTenth(scores []model.ScoreError) []Tenth {
	slices.SortStableFunc(scores, func(a, b model.ScoreError) int {
		return cmp.Compare(a.Variance, b.Variance)
	})
	var out []Tenth
	for t := range tenths {
		part := scores[t*len(scores)/tenths : (t+1)*len(scores)/tenths]
		if len(part) == 0 {
			continue
		}
		n := float64(len(part))
		tenth := Tenth{Scores: len(part)}
		square := 0.0
		for _, s := range part {
			tenth.StdDev += math.Sqrt(s.Variance) / n
			tenth.Variance += s.Variance / n
			tenth.Error += s.Product / n
			square += s.Product * s.Product / n
		}
		tenth.ErrorErr = math.Sqrt(max(square-tenth.Error*tenth.Error, 0) / n)
		out = append(out, tenth)
	}
	return out
}
