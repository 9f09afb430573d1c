package again

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/num/newton"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/kalman"
)

const hour = 3600

// at is an event of weight 1 at an hour.
func at(item int32, hours int64) kalman.Event {
	return kalman.Event{Item: item, Weight: 1, Time: hours * hour}
}

// own is an item as the equation has it.
type own struct {
	item   int32
	visits int
	last   int64   // in hours
	term   float64 // with c = 1, 10, 100
}

func TestTerm(t *testing.T) {
	ln := math.Log
	for _, test := range []struct {
		name string
		days bool
		h    kalman.History
		want []own
	}{
		{"nothing", false, nil, nil},
		{"one visit", false, kalman.History{at(7, 1)}, []own{{7, 1, 1, 1 + 10*ln(1) - 100}}},
		{"ages in visits", false, kalman.History{at(7, 1), at(3, 1), at(7, 5), at(4, 6)}, []own{
			{7, 2, 5, 1 + 10*ln(1./4+1./2)}, {3, 1, 1, 1 + 10*ln(1./3)}, {4, 1, 6, 1 - 100},
		}},
		{"ages in days", true, kalman.History{at(7, 0), at(3, 24), at(7, 48), at(4, 72)}, []own{
			{7, 2, 48, 1 + 10*ln(1./5+1./3)}, {3, 1, 24, 1 + 10*ln(1./4)},
			{4, 1, 72, 1 + 10*ln(1./2) - 100},
		}},
		{"a page that is loaded again", false, kalman.History{at(7, 1), at(7, 2), at(3, 3), at(3, 4)},
			[]own{{7, 1, 2, 1 + 10*ln(1./2)}, {3, 1, 4, 1 + 10*ln(1) - 100}}},
		{"an item that is disliked", false, kalman.History{at(7, 1), {Item: 3, Weight: -1}, at(7, 2)},
			[]own{{7, 1, 2, 1 + 10*ln(1) - 100}}},
		{"an item that is disliked in the end", false, kalman.History{at(7, 1), at(3, 2), at(7, 3),
			{Item: 3, Weight: -1}, {Item: 7}}, []own{{7, 1, 3, 1 + 10*ln(1) - 100}}},
		{"events of tomorrow", true, kalman.History{at(7, 200)},
			[]own{{7, 1, 200, 1 + 10*ln(1) - 100}}},
	} {
		s := Spec{Decay: 1, Days: test.days, Constant: 1, Recency: 10, Newest: 100}
		got := s.Of(test.h, 96*hour)
		if len(got) != len(test.want) {
			t.Errorf("%s: %d items, want %d", test.name, len(got), len(test.want))
			continue
		}
		for i, w := range test.want {
			o := &got[i]
			if o.Item != w.item || o.Visits != w.visits || o.Last != w.last*hour ||
				math.Abs(s.Term(o)-w.term) > 1e-12 {
				t.Errorf("%s: %+v with the term %v, want %+v", test.name, *o, s.Term(o), w)
			}
		}
	}
}

// slow is ln Σ age^−δ of an item, and whether it is the newest, by the definition.
func slow(s *Spec, h kalman.History, item int32, now int64) (recency float64, newest bool) {
	h = h[max(0, len(h)-Most):]
	var kept kalman.History
	for j, e := range h {
		if e.Weight > 0 && !slices.ContainsFunc(h[j:], func(later kalman.Event) bool {
			return later.Item == e.Item && later.Weight < 0
		}) {
			kept = append(kept, e)
		}
	}
	sum, age := 0.0, 0
	for j := len(kept) - 1; j >= 0; j-- {
		if j < len(kept)-1 && kept[j].Item == kept[j+1].Item {
			continue
		}
		if age++; kept[j].Item != item {
			continue
		}
		newest = newest || age == 1
		if s.Days {
			sum += math.Exp(-s.Decay * math.Log(1+float64(now-kept[j].Time)/86400))
		} else {
			sum += math.Exp(-s.Decay * math.Log(float64(age)))
		}
	}
	return math.Log(sum), newest
}

func TestTermAgainstOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for trial := range 200 {
		h, length := kalman.History(nil), rng.IntN(60)
		if trial%50 == 0 {
			length += Most // of which the first do not count
		}
		for j := range length {
			h = append(h, kalman.Event{Item: rng.Int32N(12), Weight: float32(rng.IntN(4) - 1),
				Time: int64(j) * 40_000})
		}
		now := int64(length) * 50_000
		s := Candidates()[rng.IntN(len(Candidates()))]
		s.Constant, s.Recency, s.Newest = rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
		boosts := []ranking.Boost{{Item: 3, Score: 0.5}, {Item: 20, Score: 2}}
		for i := range s.AddTo(boosts, s.Of(h, now)) {
			b := s.AddTo([]ranking.Boost{{Item: 3, Score: 0.5}, {Item: 20, Score: 2}},
				s.Of(h, now))[i]
			want := map[int32]float64{3: 0.5, 20: 2}[b.Item]
			if recency, newest := slow(&s, h, b.Item, now); !math.IsInf(recency, -1) {
				want += s.Constant + s.Recency*recency
				if newest {
					want -= s.Newest
				}
			}
			if math.Abs(float64(b.Score)-want) > 1e-5 {
				t.Errorf("trial %d, %s: item %d has %v, want %v", trial, s, b.Item, b.Score, want)
			}
		}
	}
}

// someChoices are of users whose visits follow truth, a model of scores with a term.
func someChoices(seed uint64, n int, truth Spec) (choices []Choice) {
	rng := rand.New(rand.NewPCG(seed, 3))
	const items = 30
	for u := range n {
		var h kalman.History
		for j := range 8 {
			scores := make([]float32, items)
			for i := range scores {
				scores[i] = float32(rng.NormFloat64())
			}
			logits := make([]float64, items)
			for i := range logits {
				logits[i] = 1.5 * float64(scores[i])
			}
			for _, o := range truth.Of(h, int64(j*hour)) {
				logits[o.Item] += 1.5 * truth.Term(&o)
			}
			for i := range logits { // a draw from the softmax
				logits[i] -= math.Log(rng.ExpFloat64())
			}
			target := int32(0)
			for i := range logits {
				if logits[i] > logits[target] {
					target = int32(i)
				}
			}
			h = append(h, at(target, int64(j)))
			if n := len(h); n > 1 && h[n-1].Item != h[n-2].Item {
				choices = append(choices, NewChoice(scores, append(kalman.History(nil), h...), int32(u)))
			}
		}
	}
	return choices
}

// The gradient is that of the value, and the matrix that of the gradient, by differences.
func TestDerivatives(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	choices := someChoices(1, 4, Spec{Decay: 0.6, Constant: 1, Recency: 1, Newest: 2})
	for i := range choices {
		choices[i].ownBy(&Spec{Decay: 0.6})
	}
	for range 20 {
		var at newton.Params
		for a := range at {
			at[a] = rng.NormFloat64()
		}
		m := derivatives(choices, at)
		const step = 1e-5
		for a := range at {
			up, down := at, at
			up[a], down[a] = up[a]+step, down[a]-step
			above, below := derivatives(choices, up), derivatives(choices, down)
			if slope := (above.Value - below.Value) / (2 * step); math.Abs(slope-m.Gradient[a]) > 1e-5 {
				t.Errorf("at %v the gradient %d is %v, want %v", at, a, m.Gradient[a], slope)
			}
			for b := range at {
				slope := (above.Gradient[b] - below.Gradient[b]) / (2 * step)
				if math.Abs(slope+m.Matrix[a][b]) > 1e-5 {
					t.Errorf("at %v the matrix %d, %d is %v, want %v", at, a, b, m.Matrix[a][b], -slope)
				}
			}
		}
	}
}

// The value is the sum of the logarithms of the softmax over all items.
func TestLikelihoodAgainstSoftmax(t *testing.T) {
	s := Spec{Decay: 0.3, Constant: 0.7, Recency: 0.4, Newest: 1.1}
	choices := someChoices(2, 10, s)
	want := -ridge * (s.Constant*s.Constant + s.Recency*s.Recency + s.Newest*s.Newest) / 2 * 4
	for i := range choices {
		c := &choices[i]
		c.ownBy(&s)
		logits := make([]float64, len(c.Scores))
		for j, y := range c.Scores {
			logits[j] = 2 * float64(y)
		}
		for j := range c.own {
			logits[c.own[j].Item] = 2 * (c.scores[j] + s.Term(&c.own[j]))
		}
		sum := 0.0
		for _, l := range logits {
			sum += math.Exp(l)
		}
		want += logits[c.target] - math.Log(sum)
		place := 1
		for _, l := range logits {
			if l > logits[c.target] {
				place++
			}
		}
		check.Same(t, place, c.place(&s), "choice %d has the place", i)
	}
	got := derivatives(choices, newton.Params{2, 2 * s.Constant, 2 * s.Recency, 2 * s.Newest}).Value
	if math.Abs(got-want) > 1e-6 {
		t.Errorf("the likelihood is %v, want %v", got, want)
	}
}

// The constants by which choices were made are found again; where nothing was, there are none.
func TestChoose(t *testing.T) {
	truth := Spec{Decay: 1, Constant: 2.5, Recency: 1.2, Newest: 1}
	if s := Choose(someChoices(3, 200, truth)); s.Days || math.Abs(s.Constant-2.5) > 0.4 ||
		math.Abs(s.Recency-1.2) > 0.4 {
		t.Errorf("the constants are %s, want %s", s, truth)
	}
	if s := Choose(someChoices(4, 200, Spec{})); !s.None() {
		t.Errorf("without repeats of their own the constants are %s", s)
	}
	if s := Choose(nil); !s.None() {
		t.Errorf("from nothing the constants are %s", s)
	}
}

func TestValidate(t *testing.T) {
	good := Spec{Decay: 0.3, Days: true, Constant: -1, Recency: 2, Newest: 3}
	for _, s := range []Spec{{}, good} {
		check.Pass(t, s.Validate(), "%s", s)
	}
	for _, s := range []Spec{{Constant: 1}, {Days: true}, {Decay: -1}, {Decay: math.NaN()},
		{Decay: 11}, {Decay: 1, Newest: math.Inf(1)}, {Decay: 1, Recency: math.NaN()}} {
		if s.Validate() == nil {
			t.Errorf("%s has no fault", s)
		}
	}
	if s := good.Scaled(2); s.Constant != -2 || s.Recency != 4 || s.Newest != 6 || !s.Days {
		t.Errorf("twice %s is %s", good, s)
	}
	for _, factor := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if s := good.Scaled(factor); !s.None() {
			t.Errorf("%s times %v is %s", good, factor, s)
		}
	}
}
