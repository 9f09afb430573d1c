package evaluate

import (
	"runtime"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/train"
)

// The test users are ranked by the constants that the validation users choose, and on any number of
// processors alike.
func TestMarkov(t *testing.T) {
	p := randomPartition(6, 400, 60)
	c := newChain(p)
	spec := check.Get(chooseMarkov(newTask(p, &Options{}, markov{}), c))(t)
	c.Fit(spec)
	var want []int32
	for _, h := range train.Histories(&p.Test) {
		want = append(want, c.Scorer().Rank(h[:len(h)-1], h[len(h)-1].Item))
	}
	chosen := map[string]float64{
		"backward": spec.Backward, "fade": spec.Fade, "discount": spec.Discount,
		"source-exponent": spec.SourceExponent, "target-exponent": spec.TargetExponent,
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, processors := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(processors)
		var seen []int
		got, err := Run(p, Options{Methods: []Method{markov{}}, Progress: func(_ string, done, _ int) {
			seen = append(seen, done)
		}})
		check.Must(t, err)
		check.Same(t, want, got[0].Ranks, "%d processors: ranks", processors)
		check.Same(t, chosen, got[0].Chosen, "%d processors: constants", processors)
		if processors == 1 && (len(seen) == 0 || !slices.IsSorted(seen)) {
			t.Errorf("progress was %v, want it to rise", seen)
		}
	}
}
