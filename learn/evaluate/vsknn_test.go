package evaluate

import (
	"cmp"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/dataset"
)

// oracleSession is a training user as the definition of V-SKNN sees it.
type oracleSession struct {
	items   []int32
	last    int64
	similar float32
	match   int // events back
}

// oracleVSKNN computes the scores by the definition: every session is compared with the history.
func oracleVSKNN(p *dataset.Partition, history []int32, spec *neighbourSpec) []float64 {
	var shared []oracleSession
	users := p.Train.Len()
	for u := range users {
		s := oracleSession{items: p.Train.Of(u), match: -1}
		if times := p.Train.Times(u); times != nil {
			s.last = slices.Max(times)
		}
		for back := range history {
			if slices.Contains(s.items, history[len(history)-1-back]) {
				s.similar += float32(spec.similarity.weight(back, len(history)))
				if s.match < 0 {
					s.match = back
				}
			}
		}
		if s.match >= 0 {
			shared = append(shared, s)
		}
	}
	slices.SortStableFunc(shared, func(a, b oracleSession) int { return cmp.Compare(b.last, a.last) })
	shared = shared[:min(spec.m, len(shared))]
	slices.SortStableFunc(shared, func(a, b oracleSession) int {
		return cmp.Compare(b.similar, a.similar)
	})
	scores := make([]float64, len(p.Items))
	for _, s := range shared[:min(spec.k, len(shared))] {
		for _, i := range s.items {
			scores[i] += float64(s.similar) * spec.match.weight(s.match, len(history))
		}
	}
	for i := range scores {
		with := 0
		for u := range users {
			if slices.Contains(p.Train.Of(u), int32(i)) {
				with++
			}
		}
		if with > 0 {
			scores[i] *= 1 + spec.idf*math.Log(float64(users)/float64(with))
		}
	}
	return scores
}

// timed gives the training users of p times, many of them equal.
func timed(p *dataset.Partition, rng *rand.Rand) {
	h := &p.Train
	h.Time = make([]int64, len(h.Item))
	for u := range h.Len() {
		times := h.Times(u)
		for j := range times {
			times[j] = rng.Int64N(20)
		}
		slices.Sort(times)
	}
}

func TestVSKNNScores(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range 60 {
		p := randomPartition(uint64(round), 20+rng.IntN(120), 16+rng.IntN(40))
		if round%2 == 0 {
			timed(p, rng)
		}
		spec := &neighbourSpec{
			k: 1 + rng.IntN(30), m: 1 + rng.IntN(60), idf: float64(rng.IntN(3)),
			similarity: decays[rng.IntN(len(decays))], match: decays[rng.IntN(len(decays))],
		}
		x := newNeighbours(p)
		w := x.worker(x.factors(spec.idf))
		for u := range p.Test.Len() {
			history, _ := split(&p.Test, u)
			if u == 0 {
				history = nil
			}
			w.score(history, spec)
			want := oracleVSKNN(p, history, spec)
			for i := range want {
				if math.Abs(w.scores[i]-want[i]) > 1e-9*(1+want[i]) {
					t.Fatalf("round %d, user %d: item %d has score %v, want %v (k %d, m %d, %s, "+
						"%s, idf %v)", round, u, i, w.scores[i], want[i], spec.k, spec.m,
						spec.similarity.name, spec.match.name, spec.idf)
				}
			}
		}
	}
}

// A decay is 1 for the newest event, falls, and stays above 0: a session with a similarity of 0
// would count as one without shared items.
func TestDecays(t *testing.T) {
	for _, d := range decays {
		for _, length := range []int{1, 2, 9, 5000} {
			above := 1.0
			for back := range length {
				got := d.weight(back, length)
				if back == 0 && got != 1 || got > above || float32(got) <= 0 {
					t.Fatalf("%s: %d events back of %d weigh %v, after %v", d.name, back, length,
						got, above)
				}
				above = got
			}
		}
	}
}

// The chosen constants must be at least as good on the validation users as the paper's and as those
// one step away, and the test users must be ranked by them.
func TestVSKNNChoosesOnValidation(t *testing.T) {
	p := randomPartition(5, 800, 60)
	index := newNeighbours(p)
	value := func(at vsknnPoint) float64 {
		return MetricAt(10, index.ranks(&p.Validation, at.spec(), func(int) {})).NDCG
	}
	var seen []int
	results, err := Run(p, Options{Methods: []Method{vsknn{}}, Progress: func(_ string, done, _ int) {
		seen = append(seen, done)
	}})
	check.Must(t, err)
	got := &results[0]
	var at vsknnPoint
	at[0] = slices.Index(vsknnK, int(got.Chosen["k"]))
	at[1] = slices.Index(vsknnM, int(got.Chosen["m"]))
	for axis, name := range strings.Split(got.Variant, ", ") {
		at[2+axis] = slices.IndexFunc(decays, func(d decay) bool { return d.name == name })
	}
	at[4] = slices.Index(vsknnIDF, got.Chosen["idf"])
	if slices.Min(at[:]) < 0 {
		t.Fatalf("chose %v %q, which is not of the grid", got.Chosen, got.Variant)
	}
	chosen := value(at)
	if start := value(vsknnStart); chosen <= start {
		t.Errorf("NDCG %v by %v, and %v by the paper's: choose another seed", chosen, at, start)
	}
	for axis, n := range vsknnSizes {
		for _, step := range []int{-1, 1} {
			next := at
			if next[axis] += step; next[axis] < 0 || next[axis] >= n {
				continue
			}
			if v := value(next); v > chosen {
				t.Errorf("NDCG %v by %v, but %v by %v", chosen, at, v, next)
			}
		}
	}
	check.Same(t, index.ranks(&p.Test, at.spec(), func(int) {}), got.Ranks, "ranks")
	if !slices.IsSorted(seen) || slices.Max(seen) > p.Test.Len() {
		t.Errorf("progress was %v, want it to rise to %d", seen, p.Test.Len())
	}
}

func TestVSKNNDoesNotDependOnProcessors(t *testing.T) {
	p := randomPartition(6, 400, 60)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var first []Result
	for _, processors := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(processors)
		got := check.Get(Run(p, Options{Methods: []Method{vsknn{}}}))(t)
		if first == nil {
			first = got
		}
		check.Same(t, first, got, "%d processors", processors)
	}
}

// The validation users by whom constants are chosen know what is hidden, if they are some of all too.
func TestOnValidationKeepsWhatIsHidden(t *testing.T) {
	p := randomPartition(6, 400, 60)
	p.Hide(func(id string) bool { return id == p.Items[2] })
	for _, limit := range []int{0, 3} {
		check.Same(t, []int32{2}, onValidation(p, limit).Test.Hidden, "hidden of up to %d users", limit)
	}
}
