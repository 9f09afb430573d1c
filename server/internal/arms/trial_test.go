package arms

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// ranks draws ranks of a model: with the probability p within the first ten.
func ranks(rng *rand.Rand, p float64) int {
	if rng.Float64() < p {
		return 1 + rng.IntN(10)
	}
	return 11 + rng.IntN(1000)
}

// run tries an arm on events, of which it has a tenth, and returns how many of its own it took to
// find it worse; 0: it was not.
func run(seed uint64, events int, p float64) int {
	rng := rand.New(rand.NewPCG(seed, 7))
	t := &Trial{Events: 200, Z: 3}
	for n := range events {
		ofArm := n%10 == 0
		share := 0.3
		if ofArm {
			share = p
		}
		if f, looked := t.Add(ofArm, "v", ranks(rng, share)); looked && f.Worse {
			return f.Events
		}
	}
	return 0
}

// A worse arm is found, soon, and an equal or better one hardly ever.
func TestTrial(t *testing.T) {
	const trials = 100
	found := map[float64]int{}
	for _, p := range []float64{0.1, 0.3, 0.4} {
		for seed := range uint64(trials) {
			if after := run(seed, 20_000, p); after > 0 {
				found[p]++
			}
		}
	}
	if found[0.1] != trials || found[0.3] > 4 || found[0.4] > 0 {
		t.Errorf("of %d trials an arm is found worse: %d of a bad one, %d of an equal one, %d of "+
			"a good one", trials, found[0.1], found[0.3], found[0.4])
	}
	check.Same(t, 200, run(1, 20_000, 0.02), "events until a very bad arm is found")
}

// The figures are those of the definition, and another model begins the trial anew.
func TestTrialFigures(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	trial := &Trial{Events: 2, Z: 1}
	var gains [2][]float64
	for range 500 {
		side, rank := rng.IntN(2), 1+rng.IntN(100)
		gains[side] = append(gains[side], Gain(rank))
		trial.Add(side == 1, []string{"m", "a"}[side], rank)
	}
	mean := func(x []float64) (m, e2 float64) {
		for _, v := range x {
			m += v / float64(len(x))
		}
		for _, v := range x {
			e2 += (v - m) * (v - m) / float64(len(x)-1) / float64(len(x))
		}
		return m, e2
	}
	m0, e0 := mean(gains[0])
	m1, e1 := mean(gains[1])
	f := trial.Figures()
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }
	if !near(f.Main, m0) || !near(f.Arm, m1) || !near(f.StandardError, math.Sqrt(e0+e1)) ||
		f.Events != len(gains[1]) || f.MainEvents != len(gains[0]) {
		t.Errorf("figures %+v, want %v %v ± %v", f, m0, m1, math.Sqrt(e0+e1))
	}
	if f, looked := trial.Add(true, "another", 1); looked || f.Worse {
		t.Error("there was a look at the first event of another model")
	}
	if f := trial.Figures(); f.Events != 1 || f.MainEvents != 0 {
		t.Errorf("with another model there are %d and %d events, want 1 and 0", f.Events,
			f.MainEvents)
	}
}
