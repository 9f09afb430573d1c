package evaluate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/num/stat"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/evaluate"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/spectral"
)

// The world of [citizens].
const (
	citizenUsers = 20_000
	citizenItems = 2_000
	countries    = 4
)

// A world has partitions of the same users, with and without attributes.
type world struct {
	with, without *dataset.Partition
	attributes    int               // of a user: the first events, on hidden items
	group         func(u int32) int // of a user, by the attribute that says most
}

// citizens are users of four countries and three plans, with a language that says nothing. An event
// is on an item of the country (3 of 10), of the plan (1), of everybody (2) or of one of three
// circles of the user (4). With attributes, the first three events are on items that stand for
// them. A fifth of the users are for testing.
func citizens(t *testing.T, attributes bool) *dataset.Partition {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	everybody := tasteOf(rng, citizenItems)
	var country, plan, circle []taste
	for range countries {
		country = append(country, tasteOf(rng, 400))
	}
	for range 3 {
		plan = append(plan, tasteOf(rng, 200))
	}
	for range 40 {
		circle = append(circle, tasteOf(rng, 60))
	}
	b := check.Get(dataset.NewBuilder("citizens", dataset.Options{}))(t)
	split := make(dataset.Split, citizenUsers)
	for u := range split {
		split[u] = [10]dataset.Role{dataset.Test, dataset.Test, dataset.Validation, dataset.Train,
			dataset.Train, dataset.Train, dataset.Train, dataset.Train, dataset.Train,
			dataset.Train}[u%10]
		c, p, l := countryOf(u), rng.IntN(3), rng.IntN(3)
		add := func(item string, time int) {
			check.Must(t, b.Add(fmt.Sprintf("%05d", u), item, int64(time), 1))
		}
		if attributes {
			add(fmt.Sprint("country=", c), 0)
			add(fmt.Sprint("plan=", p), 1)
			add(fmt.Sprint("language=", l), 2)
		}
		mine := rng.Perm(len(circle))[:3]
		had := map[int]bool{}
		for events := min(150, max(2, int(math.Exp(2.6+.8*rng.NormFloat64())))); len(had) < events; {
			of := []taste{country[c], plan[p], everybody, circle[mine[rng.IntN(3)]]}
			i := of[[]int{0, 0, 0, 1, 2, 2, 3, 3, 3, 3}[rng.IntN(10)]].draw(rng)
			if !had[i] {
				had[i] = true
				add(fmt.Sprintf("%04d", i), 10+len(had))
			}
		}
	}
	d, _, err := b.Interactions()
	check.Must(t, err)
	part := check.Get(d.PartitionInPlace(split))(t)
	part.Hide(func(id string) bool { return strings.Contains(id, "=") })
	return part
}

// countryOf is the country of a user.
func countryOf(u int) int { return u / 10 % countries }

// taste is a Zipf law of some items: their sums from the first to each, of weights 1/(rank + 3).
type taste struct {
	items []int
	sums  []float64
}

func tasteOf(rng *rand.Rand, items int) taste {
	s := taste{items: rng.Perm(citizenItems)[:items]}
	sum := 0.0
	for rank := range items {
		sum += 1 / float64(rank+3)
		s.sums = append(s.sums, sum)
	}
	return s
}

func (s taste) draw(rng *rand.Rand) int {
	return s.items[sort.SearchFloat64s(s.sums, rng.Float64()*s.sums[len(s.sums)-1])]
}

// joined are the users of reference data, whose attribute is the year, or the month, of their first
// event, in a layout of package time. It stands before the first event.
func joined(t *testing.T, name, layout string) world {
	t.Helper()
	p, _ := loadReference(t, name)
	cohort := func(h *dataset.Histories, u int) string {
		return "joined=" + time.Unix(h.Times(u)[0], 0).UTC().Format(layout)
	}
	var cohorts []string
	for u := range p.Train.Len() {
		cohorts = append(cohorts, cohort(&p.Train, u))
	}
	slices.Sort(cohorts)
	cohorts = slices.Compact(cohorts)
	with, of := &dataset.Partition{Items: slices.Concat(p.Items, cohorts)}, map[int32]int{}
	for k, h := range []*dataset.Histories{&p.Train, &p.Validation, &p.Test} {
		out := []*dataset.Histories{&with.Train, &with.Validation, &with.Test}[k]
		out.User, out.Ptr = h.User, []int64{0}
		for u := range h.Len() {
			at, _ := slices.BinarySearch(cohorts, cohort(h, u))
			at = min(at, len(cohorts)-1) // the next one, if no training user has it
			of[h.User[u]] = at
			out.Item = append(append(out.Item, int32(len(p.Items)+at)), h.Of(u)...)
			out.Time = append(append(out.Time, h.Times(u)[0]-1), h.Times(u)...)
			out.Ptr = append(out.Ptr, int64(len(out.Item)))
		}
	}
	with.Hide(func(id string) bool { return strings.HasPrefix(id, "joined=") })
	return world{with, p, 1, func(u int32) int { return of[u] }}
}

// firstEvents are the histories up to the first event after some attributes.
func firstEvents(h *dataset.Histories, attributes int) dataset.Histories {
	out := dataset.Histories{User: h.User, Ptr: []int64{0}, Hidden: h.Hidden}
	for u := range h.Len() {
		out.Item = append(out.Item, h.Of(u)[:attributes+1]...)
		out.Time = append(out.Time, h.Times(u)[:attributes+1]...)
		out.Ptr = append(out.Ptr, int64(len(out.Item)))
	}
	return out
}

// popularInGroup ranks the last events by the number of training users in the group of the user.
func (w *world) popularInGroup() (ranks []int32) {
	p := w.with
	degrees := map[int][]int64{}
	for u := range p.Train.Len() {
		g := w.group(p.Train.User[u])
		if degrees[g] == nil {
			degrees[g] = make([]int64, len(p.Items))
		}
		for _, i := range p.Train.Of(u) {
			degrees[g][i]++
		}
	}
	for u := range p.Test.Len() {
		scores, items := degrees[w.group(p.Test.User[u])], p.Test.Of(u)
		ranks = append(ranks, int32(ranking.Of(scores, items[len(items)-1],
			ranking.SetOf(len(scores), p.Test.Hidden...))))
	}
	return ranks
}

// rankAll ranks the last events of the test users of p by popularity and by learned dynamics.
func rankAll(t *testing.T, p *dataset.Partition, rank int) (popular, learned []int32) {
	t.Helper()
	spec := train.Recommended()
	spec.TrainUsers, spec.Dynamics.Deviation = int64(p.Train.Len()), false
	basis := basisOf(t, p, spectral.Graph{Kind: spec.Graph, DegreeExponent: spec.DegreeExponent,
		Window: spec.Window}, rank)
	results := check.Get(evaluate.Run(p, evaluate.Options{
		Methods: check.Get(evaluate.ParseMethods("popularity,dynamics"))(t),
		Learned: evaluate.Ingredients{Basis: basis, Spec: spec}, NoCalibration: true,
	}))(t)
	return results[0].Ranks, results[1].Ranks
}

// Attributes of users that are their first events, on hidden items, make better first lists than
// popularity, about as good ones as popularity among users of the same attribute, and no later list
// worse.
func TestAttributesMakeFirstLists(t *testing.T) {
	soak.Slow(t)
	reference := func(name, layout string) func(*testing.T) world {
		return func(t *testing.T) world { return joined(t, name, layout) }
	}
	for _, tt := range []struct {
		name string
		rank int
		wins float64 // standard errors by which attributes are better than popularity
		of   func(t *testing.T) world
	}{
		{"generated", 256, 3, func(t *testing.T) world {
			return world{citizens(t, true), citizens(t, false), 3,
				func(u int32) int { return countryOf(int(u)) }}
		}},
		{"movietweetings, by month", 512, 3, reference("movietweetings", "2006-01")},
		{"ml-latest-small, by year", 128, 3, reference("ml-latest-small", "2006")},
		// What an attribute tells that all users have: that first events are others than later ones.
		{"movietweetings, of all", 512, -3, reference("movietweetings", "once")},
		{"ml-latest-small, of all", 128, -3, reference("ml-latest-small", "once")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := tt.of(t)
			_, without := rankAll(t, w.without, tt.rank)
			_, with := rankAll(t, w.with, tt.rank)
			w.with.Test = firstEvents(&w.with.Test, w.attributes)
			popular, first := rankAll(t, w.with, tt.rank)
			group := w.popularInGroup()
			tell(t, "first event, popularity", popular)
			tell(t, "first event, popularity in the group", group)
			tell(t, "first event, attributes", first)
			tell(t, "last event, without attributes", without)
			tell(t, "last event, with attributes", with)
			compare(t, "attributes − popularity", first, popular, tt.wins)
			compare(t, "attributes − popularity in the group", first, group, -3)
			compare(t, "last event, with − without attributes", with, without, -3)
		})
	}
}

func tell(t *testing.T, name string, ranks []int32) {
	t.Helper()
	m := evaluate.MetricAt(10, ranks)
	t.Logf("%-40s HR@10 %.3f ± %.3f, NDCG@10 %.3f ± %.3f (%d users)", name, m.HR, m.HRErr, m.NDCG,
		m.NDCGErr, len(ranks))
}

// compare wants the NDCG@10 of a to be that of b and some standard errors of the difference, or
// more, on the same targets.
func compare(t *testing.T, name string, a, b []int32, errors float64) {
	t.Helper()
	var all []float64
	for u := range a {
		all = append(all, evaluate.MetricAt(10, a[u:u+1]).NDCG-evaluate.MetricAt(10, b[u:u+1]).NDCG)
	}
	mean, stderr := stat.Mean(all)
	t.Logf("%-40s NDCG@10 %+.4f ± %.4f", name, mean, stderr)
	if mean < errors*stderr {
		t.Errorf("%s: NDCG@10 %+.4f, want %+.4f at least", name, mean, errors*stderr)
	}
}
