package trend

import (
	"cmp"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/num/newton"
	"github.com/gsimc/gsimc/internal/test/check"
)

// event is a first event of a user on an item.
type event struct {
	span int64
	item int32
}

// random returns events in spans around 0, in any order.
func random(rng *rand.Rand, items int) []event {
	events := make([]event, 1+rng.IntN(300))
	for i := range events {
		events[i] = event{rng.Int64N(40) - 20, int32(rng.IntN(items))}
	}
	return events
}

// oracle returns the faded counts by the definition in the comment of the package.
func oracle(events []event, last int64, halfLife float64, items int) []float64 {
	r := make([]float64, items)
	for _, e := range events {
		if e.span > last {
			continue
		}
		followed := 0 // N_s − N_b
		for _, other := range events {
			if other.span > e.span && other.span <= last {
				followed++
			}
		}
		r[e.item] += math.Exp2(-float64(followed) / halfLife)
	}
	return r
}

func TestRates(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		items := 1 + rng.IntN(10)
		events := random(rng, items)
		last, halfLife := rng.Int64N(40)-20, math.Exp2(6*rng.Float64())
		var c Counts
		for _, e := range events {
			c.Add(e.span, e.item, 1)
		}
		got := c.RatesAfter(last, halfLife, items)
		for i, want := range oracle(events, last, halfLife, items) {
			if tolerance := float64(len(events)) * 0x1p-20; math.Abs(got.Item(int32(i))-want) > tolerance {
				t.Fatalf("seed %d: r_%d = %v, want %v", seed, i, got.Item(int32(i)), want)
			}
		}
	}
}

// A log has the rates of the counts to the bit, after every span and before the first.
func TestLog(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 3))
		items, length := 1+rng.IntN(10), 1+rng.Int64N(9)
		spec := Spec{Span: length, HalfLife: math.Exp2(6 * rng.Float64())}
		place := make([]int32, 2*items) // every other item is kept
		for i := range place {
			place[i] = int32(i/2) - int32(i%2*(i/2+1))
		}
		var c Counts
		var times []int64
		var taken []int32
		for _, e := range random(rng, len(place)) {
			times, taken = append(times, e.span), append(taken, e.item)
			if place[e.item] >= 0 {
				c.Add(spec.SpanOf(e.span), place[e.item], 1)
			}
		}
		l := NewLog(times, taken)
		l.Keep(place)
		l = l.Divide(spec)
		lasts := make([]int64, 44)
		for at := range lasts {
			lasts[at] = int64(at) - 22
		}
		rng.Shuffle(len(lasts), func(a, b int) { lasts[a], lasts[b] = lasts[b], lasts[a] })
		lasts = lasts[:seed%44+1] // whole groups of lanes, some, and none
		for at, got := range l.RatesAfter(lasts, items) {
			want := c.RatesAfter(lasts[at], spec.HalfLife, items)
			want.since = nil // of new items alone
			if !reflect.DeepEqual(want, got) {
				t.Fatalf("seed %d: the rates after span %d are %v, want %v", seed, lasts[at], got,
					want)
			}
		}
	}
}

// Many items leave room for few spans, and at least for one.
func TestTogether(t *testing.T) {
	for items, want := range map[int]int{0: 32, 1: 32, 17_770: 32, 1 << 20: 4, 1 << 30: 1} {
		check.Same(t, want, Together(items), "spans for %d items", items)
	}
}

// The memory of the rates is what a plan counts with, whether lanes are used or not.
func TestRatesBytes(t *testing.T) {
	for _, items := range []int{100_000, 400_000, 1 << 20, 5 << 20} {
		times, taken := make([]int64, 50_000), make([]int32, 50_000)
		l := NewLog(times, taken).Divide(Spec{Span: 1, HalfLife: 1})
		lasts := make([]int64, Together(items))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		l.RatesAfter(lasts, items)
		runtime.ReadMemStats(&after)
		got, most := after.TotalAlloc-before.TotalAlloc, uint64(RatesBytes(items))+1<<18
		if got > most {
			t.Errorf("%d items take %d bytes, want at most %d", items, got, most)
		}
	}
}

// A log is sorted by time over any range of times. Events of one time keep their order.
func TestLogSorts(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, n := range []int{0, 1, 2, 3000} {
		for _, width := range []int64{1, 2, 1000, 1 << 11, 1 << 30, math.MaxInt64} {
			times, items := make([]int64, n), make([]int32, n)
			for j := range times {
				times[j], items[j] = rng.Int64N(width)-width/2, int32(j)
			}
			for j, far := range []int64{math.MinInt64, math.MaxInt64} {
				if n > 2 && width == 1000 { // all others have the same first digits
					times[j] = far
				}
			}
			want := slices.Clone(items)
			slices.SortStableFunc(want, func(a, b int32) int { return cmp.Compare(times[a], times[b]) })
			l := NewLog(times, items)
			check.MustSame(t, want, l.items, "%d events, width %d", n, width)
			for j, i := range want {
				if l.Time(j) != times[i] || times[l.items[l.Before(times[i])]] != times[i] {
					t.Fatalf("%d events, width %d: event %d is at %d, want %d", n, width, j,
						l.Time(j), times[i])
				}
			}
		}
	}
}

// TestCountsForget adds events in another order, with others that are taken back: nothing is left
// of these.
func TestCountsForget(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	kept, gone := random(rng, 8), random(rng, 8)
	var want, got Counts
	for _, e := range kept {
		want.Add(e.span, e.item, 1)
	}
	all := append(append([]event{}, kept...), gone...)
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, e := range all {
		got.Add(e.span, e.item, 1)
	}
	for _, e := range gone {
		got.Add(e.span, e.item, -1)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("counts are %v, want %v", got, want)
	}
}

// TestTrends has an item that is taken twice as often as in the training, and one of which nothing
// is known.
func TestTrends(t *testing.T) {
	var c Counts
	c.Add(0, 0, 80)
	c.Add(0, 1, 20)
	r := c.RatesAfter(0, 1e9, 3)
	g := make([]float32, 3)
	r.TrendsTo(g, []int64{40, 60, 0})
	for i, want := range []float64{
		math.Log(82. / 42), math.Log(22. / 62), 0,
	} {
		if math.Abs(float64(g[i])-want) > 1e-6 {
			t.Errorf("g_%d = %v, want %v", i, g[i], want)
		}
	}
	popular := r.Popular([]int64{40, 60, 0})
	if popular[0] <= popular[1] || popular[1] <= popular[2] || popular[2] != 0 {
		t.Errorf("popular now: %v", popular)
	}
}

func TestSpans(t *testing.T) {
	s := Spec{Span: 60}
	for time, want := range map[int64]int64{-61: -2, -60: -1, -1: -1, 0: 0, 59: 0, 60: 1} {
		check.Same(t, want, s.SpanOf(time), "SpanOf(%d)", time)
	}
	times := make([]int64, 10_000)
	for i := range times {
		times[i] = int64(i) * 1000
	}
	l := NewLog(times, make([]int32, len(times)))
	for at, want := range []Spec{{HalfLife: 30, Span: 1000}, {HalfLife: 100, Span: 3333}} {
		check.Same(t, want, Candidates(l, l.Before(math.MaxInt64))[at], "candidate %d", at)
	}
	if got := Candidates(l, 0)[0]; got.SpanOf(5) != 0 || !(got.HalfLife > 0) {
		t.Errorf("without events the constants are %+v", got)
	}
}

// simulate draws choices from the softmax of τŷ + γg.
func simulate(rng *rand.Rand, n, items int, tau, gamma float64) []Choice {
	choices := make([]Choice, n)
	for t := range choices {
		c := Choice{
			Scores: make([]float32, items), Trends: make([]float32, items), User: int32(t),
		}
		at, most := 0, math.Inf(-1)
		for i := range items {
			c.Scores[i], c.Trends[i] = float32(rng.NormFloat64()), float32(rng.NormFloat64())
			if i%7 == 3 {
				c.Scores[i] = float32(math.Inf(-1))
			}
			// the largest of logits with Gumbel noise is distributed as their softmax
			noisy := logit(c.Scores[i], c.Trends[i], tau, gamma) - math.Log(rng.ExpFloat64())
			if noisy > most {
				at, most = i, noisy
			}
		}
		c.Target = int32(at)
		choices[t] = c
	}
	return choices
}

func TestFit(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, want := range []struct{ tau, gamma float64 }{{2, 0.5}, {0.5, 2}, {8, 1}} {
		choices := simulate(rng, 2000, 50, want.tau, want.gamma)
		l := Fit(choices, Plain(choices))
		if math.Abs(l.Tau-want.tau) > 0.1*want.tau || math.Abs(l.Gamma-want.gamma) > 0.15*want.gamma {
			t.Errorf("Fit = %+v, want about %+v", l, want)
		}
		if gain := want.gamma / want.tau; math.Abs(l.Gain()-gain) > 0.2*gain {
			t.Errorf("the gain is %v, want about %v", l.Gain(), gain)
		}
	}
}

// TestFitFindsTheTop compares the likelihood with those around it.
func TestFitFindsTheTop(t *testing.T) {
	choices := simulate(rand.New(rand.NewPCG(5, 6)), 60, 20, 1, 1)
	l := Fit(choices, Plain(choices))
	for _, d := range [][2]float64{{0.01, 0}, {-0.01, 0}, {0, 0.01}, {0, -0.01}, {0.01, -0.01}} {
		if near := derivatives(choices)(newton.Params{l.Tau + d[0], l.Gamma + d[1]}).Value; near > l.Value {
			t.Errorf("L at %v from the top is %v, above %v", d, near, l.Value)
		}
		if near := derivatives(choices)(newton.Params{}).Value; near > l.Without {
			t.Errorf("L(0, 0) = %v, above the largest L(τ, 0) = %v", near, l.Without)
		}
	}
}

// TestChoose: where users choose by what they are shown, the likeliest gain is about the best. Where
// items that are taken twice as often have twice the score, so is the power 1. Where the trends
// matter for other items only, it is none.
func TestChoose(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	choices := simulate(rng, 2000, 300, 2, 1)
	if power, got := Choose(choices, 0.5); power != 0 || got < 0.25 || got > 0.75 {
		t.Errorf("the power is %v and the gain %v, want 0 and about 0.5", power, got)
	}
	lifted := simulateLifted(rng, 2000, 300)
	if power, gain := Choose(lifted, 0.05); power != 1 || gain > 0.01 {
		t.Errorf("the power is %v and the gain %v, want 1 and 0", power, gain)
	}
	for t := range choices { // the best of the scores is chosen, and rises less than others
		c := &choices[t]
		for i, score := range c.Scores {
			if score > c.Scores[c.Target] {
				c.Target = int32(i)
			}
		}
		c.Trends[c.Target] = -1
	}
	for name, choices := range map[string][]Choice{"others": choices, "none": nil} {
		if power, gain := Choose(choices, 0.5); power != 0 || gain != 0 {
			t.Errorf("%s: the power is %v and the gain %v, want 0", name, power, gain)
		}
	}
}

// simulateLifted has choices in proportion to e^g times the score: a few items have one.
func simulateLifted(rng *rand.Rand, n, items int) []Choice {
	choices := make([]Choice, n)
	for t := range choices {
		c := Choice{
			Scores: make([]float32, items), Trends: make([]float32, items), User: int32(t),
		}
		most := math.Inf(-1)
		for i := range items {
			c.Trends[i] = float32(1.5 * rng.NormFloat64())
			if i%10 == 0 {
				c.Scores[i] = float32(rng.ExpFloat64()) / 100
			}
			noisy := math.Log(float64(c.Scores[i])) + float64(c.Trends[i]) -
				math.Log(rng.ExpFloat64())
			if noisy > most {
				c.Target, most = int32(i), noisy
			}
		}
		choices[t] = c
	}
	return choices
}

// TestGainNeedsEvidence has trends that say nothing, the wrong, or nothing that tells items apart.
func TestGainNeedsEvidence(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	equal := simulate(rng, 300, 30, 2, 0)
	for t := range equal {
		clear(equal[t].Trends)
	}
	for name, choices := range map[string][]Choice{
		"chance": simulate(rng, 300, 30, 2, 0), "wrong way": simulate(rng, 300, 30, 2, -1),
		"all equal": equal, "none": nil,
	} {
		if l := Fit(choices, Plain(choices)); l.Gain() != 0 {
			t.Errorf("%s: the gain is %v (%+v), want 0", name, l.Gain(), l)
		}
	}
}

// What an item of an extension is expected to have are the events since its first one. One that
// nobody has and those of the training may have had all.
func TestTrendsOfNewItems(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 3))
		const items, known = 8, 5
		events := random(rng, items-1) // nobody has the last one
		last, halfLife := int64(15), 300.
		var c Counts
		shares, numbers := make([]int64, items), []int32{0, 1, 2, 3, 4, 5, 6, -1}
		sum := 0.
		for i := range shares {
			shares[i] = 1 + rng.Int64N(50)
			sum += float64(shares[i])
		}
		for _, e := range events {
			c.Add(e.span, e.item, 1)
		}
		s := c.RatesAfter(last, halfLife, items).Of(numbers, known).Snapshot(&Spec{Gain: 1}, shares)
		r, all := oracle(events, last, halfLife, items), 0.
		for i := range r {
			all += r[i]
		}
		for i := range r {
			expected := all * float64(shares[i]) / sum
			if i >= known && r[i] > 0 {
				first := int64(math.MaxInt64)
				for _, e := range events {
					if int(e.item) == i {
						first = min(first, e.span)
					}
				}
				from := slices.Clone(events) // the same events, of which another item has these
				for at := range from {
					if from[at].span >= first {
						from[at].item = items
					}
				}
				since := oracle(from, last, halfLife, items+1)[items]
				expected *= since / all
			}
			want := math.Log((r[i] + Prior) / (expected + Prior))
			if math.Abs(float64(s.G[i])-want) > 1e-3 {
				t.Fatalf("seed %d: g_%d is %v, want %v", seed, i, s.G[i], want)
			}
		}
	}
}
