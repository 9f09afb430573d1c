package breakdown_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/evaluate"
	"github.com/gsimc/gsimc/learn/evaluate/breakdown"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/spectral"
)

// append1 appends a history without times and weights.
func append1(h *dataset.Histories, items ...int32) {
	if h.Ptr == nil {
		h.Ptr = []int64{0}
	}
	h.User = append(h.User, int32(len(h.User)))
	h.Item = append(h.Item, items...)
	h.Ptr = append(h.Ptr, int64(len(h.Item)))
}

// walk is a random history: items around a begin.
func walk(rng *rand.Rand, n, length int) []int32 {
	begin, items := rng.IntN(n), []int32{}
	for _, step := range rng.Perm(2 * length)[:length] {
		items = append(items, int32((begin+step*step/3)%n))
	}
	slices.Sort(items)
	return slices.Compact(items)
}

// random is a catalogue of n items.
func random(rng *rand.Rand, n, trainUsers, testUsers int) *dataset.Partition {
	p := &dataset.Partition{}
	for i := range n {
		p.Items = append(p.Items, fmt.Sprintf("%04d", i))
		append1(&p.Train, int32(i), int32((i+1)%n)) // no item without users
	}
	for range trainUsers {
		append1(&p.Train, walk(rng, n, 3+rng.IntN(6))...)
	}
	for range testUsers {
		h := walk(rng, n, 3+rng.IntN(20))
		rng.Shuffle(len(h), func(i, j int) { h[i], h[j] = h[j], h[i] })
		append1(&p.Test, h...)
	}
	return p
}

func results(rng *rand.Rand, users int) (r []evaluate.Result) {
	for _, name := range []string{"a", "b"} {
		ranks := make([]int32, users)
		for u := range ranks {
			ranks[u] = 1 + rng.Int32N(25)
		}
		r = append(r, evaluate.Result{Name: name, Ranks: ranks})
	}
	return r
}

// TestByHistoryLengthGolden: 40 users of one event, 30 of two and 12 of three, which are joined,
// and 50 of eight.
func TestByHistoryLengthGolden(t *testing.T) {
	p := &dataset.Partition{}
	r := evaluate.Result{}
	for _, part := range []struct{ users, events, rank int }{
		{40, 1, 1}, {30, 2, 3}, {12, 3, 11}, {50, 8, 1},
	} {
		for range part.users {
			append1(&p.Test, make([]int32, part.events+1)...)
			r.Ranks = append(r.Ranks, int32(part.rank))
		}
	}
	type row struct {
		From, To int
		Mean     float64
		Users    int
		HR, NDCG float64
	}
	var got []row
	for _, g := range breakdown.ByHistoryLength(p, []evaluate.Result{r}) {
		m := g.Metrics[0]
		got = append(got, row{g.From, g.To, g.Mean, g.Users, m.HR, m.NDCG})
	}
	want := []row{
		{1, 1, 1, 40, 1, 1},
		{2, 3, (60 + 36) / 42.0, 42, 30 / 42.0, 15 / 42.0},
		{8, 8, 8, 50, 1, 1},
	}
	check.SameBy(t, cmpopts.EquateApprox(1e-12, 0), want, got, "groups")
}

// Groups hold all users, apart by value, and have the figures of their users.
func TestGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, users := range []int{1, 30, 100, 3000} {
		p := random(rng, 200, 500, users)
		r := results(rng, users)
		degrees := make([]int, len(p.Items))
		for _, i := range p.Train.Item {
			degrees[i]++
		}
		for _, by := range []struct {
			name  string
			of    func(*dataset.Partition, []evaluate.Result) []breakdown.Group
			value func(items []int32) int
			least int // groups of many users
		}{
			{"history", breakdown.ByHistoryLength, func(h []int32) int { return len(h) - 1 }, 5},
			{"popularity", breakdown.ByPopularity,
				func(h []int32) int { return degrees[h[len(h)-1]] }, 6},
		} {
			groups := by.of(p, r)
			if users == 3000 && len(groups) < by.least || users < 80 && len(groups) != 1 {
				t.Errorf("%s: %d users are in %d groups", by.name, users, len(groups))
			}
			all := 0
			for i, g := range groups {
				if i > 0 && g.From <= groups[i-1].To ||
					len(groups) > 1 && g.Users < breakdown.LeastUsers {
					t.Errorf("%s: group %+v after %+v", by.name, g, groups[max(i-1, 0)])
				}
				checkGroup(t, p, r, g, by.value)
				all += g.Users
			}
			check.Same(t, users, all, "%s: users in groups", by.name)
		}
	}
}

func checkGroup(
	t *testing.T, p *dataset.Partition, r []evaluate.Result, g breakdown.Group,
	value func(items []int32) int,
) {
	t.Helper()
	sum := 0
	ranks := make([][]int32, len(r))
	for u := range p.Test.Len() {
		if v := value(p.Test.Of(u)); v >= g.From && v <= g.To {
			sum += v
			for i := range r {
				ranks[i] = append(ranks[i], r[i].Ranks[u])
			}
		}
	}
	if g.Users != len(ranks[0]) || math.Abs(g.Mean-float64(sum)/float64(g.Users)) > 1e-9 {
		t.Errorf("%+v, want %d users of mean %v", g, len(ranks[0]), float64(sum)/float64(g.Users))
	}
	for i := range r {
		want := evaluate.MetricAt(breakdown.N, ranks[i])
		check.SameBy(t, cmpopts.EquateApprox(1e-12, 0), want, g.Metrics[i], "figures")
	}
}

// Every group of items has about a tenth of the interactions.
func TestByPopularityTenths(t *testing.T) {
	p := &dataset.Partition{Items: make([]string, 20)}
	r := evaluate.Result{}
	for i := range int32(20) { // item i has i+1 users
		for range i + 1 {
			append1(&p.Train, i)
		}
		for range breakdown.LeastUsers {
			append1(&p.Test, 0, i)
			r.Ranks = append(r.Ranks, 1)
		}
	}
	var from []int
	for _, g := range breakdown.ByPopularity(p, []evaluate.Result{r}) {
		from = append(from, g.From)
	}
	// 210 interactions: those of the items of up to 6 users are the first 21.
	want := []int{1, 7, 10, 12, 14, 15, 17, 18, 19, 20}
	check.Same(t, want, from, "first degrees")
}

// fitted learns a model with learned dynamics, and without the deviation.
func fitted(t *testing.T, p *dataset.Partition, rank int) (*spectral.Basis, *model.Model) {
	t.Helper()
	basis := check.Get(spectral.Solve(train.Incidence(p), spectral.Options{
		Graph: spectral.Graph{Kind: spectral.Hypergraph, DegreeExponent: 1}, Rank: rank,
	}))(t)
	spec := model.DefaultSpec()
	spec.TrainUsers, spec.DegreeRescale = int64(p.Train.Len()), 0.4
	spec.Dynamics = model.DynamicsSpec{
		Kind: model.DynamicsLearned, Bands: []kalman.Band{{Rho: 0.9}}, Ridge: 1,
	}
	m := check.Get(model.New(spec, basis, p.Items, train.LearnFrom(p)))(t)
	return basis, m
}

// TestFilterEnergy compares with sums over the users, and with a filter that passes everything.
func TestFilterEnergy(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	p := random(rng, 60, 200, 30)
	basis, m := fitted(t, p, 12)
	filter := spectral.DefaultFilter(spectral.Tikhonov)
	e := breakdown.FilterEnergy(p, basis, 0.4, filter)
	response := make([]float64, basis.K)
	filter.ResponseTo(response, basis.Lambda)
	before, after := make([]float64, basis.K), make([]float64, basis.K)
	for u := range p.Test.Len() {
		items := p.Test.Of(u)
		for j := range basis.K {
			z := 0.0
			for _, i := range items[:len(items)-1] {
				z += basis.U[int(i)*basis.K+j] * math.Pow(float64(basis.Degrees[i]), -0.2)
			}
			before[j] += z * z
			after[j] += response[j] * z * response[j] * z
		}
	}
	near := cmpopts.EquateApprox(1e-6, 1e-9)
	check.SameBy(t, near, shares(before), e.Before, "before")
	check.SameBy(t, near, shares(after), e.After, "after")
	learned := breakdown.DynamicsEnergy(p, basis, m)
	check.SameBy(t, near, e.Before, learned.Before, "before learned dynamics")
	if sum := total(learned.After); math.Abs(sum-1) > 1e-9 || slices.Min(learned.After) < 0 ||
		cmp.Equal(learned.Before, learned.After, cmpopts.EquateApprox(1e-2, 0)) {
		t.Errorf("after learned dynamics %v, of sum %v", learned.After, sum)
	}
}

func total(values []float64) (sum float64) {
	for _, x := range values {
		sum += x
	}
	return sum
}

func shares(values []float64) (out []float64) {
	for _, x := range values {
		out = append(out, x/total(values))
	}
	return out
}
