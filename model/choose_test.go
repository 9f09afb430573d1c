package model

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/model/local"
	"github.com/gsimc/gsimc/spectral"
)

const (
	choiceItems  = 64
	choiceGroups = 4
)

// grouped returns a basis whose first columns tell the group of an item. The others are random.
func grouped(rng *rand.Rand) *spectral.Basis {
	b := randomBasis(rng, choiceItems, choiceItems)
	q := make([]float64, 0, choiceItems*choiceItems) // columns, one after the other
	for j := range choiceItems {
		col := make([]float64, choiceItems)
		for i := range col {
			switch {
			case j >= choiceGroups:
				col[i] = b.U[i*choiceItems+j]
			case i%choiceGroups == j:
				col[i] = 1
			}
		}
		for before := range j {
			other, dot := q[before*choiceItems:(before+1)*choiceItems], 0.0
			for i, x := range col {
				dot += x * other[i]
			}
			for i := range col {
				col[i] -= dot * other[i]
			}
		}
		norm := 0.0
		for _, x := range col {
			norm += x * x
		}
		for i := range col {
			col[i] /= math.Sqrt(norm)
		}
		q = append(q, col...)
	}
	for i := range choiceItems {
		for j := range choiceItems {
			b.U[i*choiceItems+j] = q[j*choiceItems+i]
		}
	}
	return b
}

// chains are users who take item i+1 after item i.
func chains(rng *rand.Rand, users int) []History {
	return drawn(users, func() (int32, func(before int32) int32) {
		return rng.Int32N(choiceItems), func(i int32) int32 { return (i + 1) % choiceItems }
	})
}

// rounds are users who take any item of group g+1 after one of group g.
func rounds(rng *rand.Rand, users int) []History {
	return drawn(users, func() (int32, func(before int32) int32) {
		return rng.Int32N(choiceItems), func(i int32) int32 {
			return (i+1)%choiceGroups + choiceGroups*rng.Int32N(choiceItems/choiceGroups)
		}
	})
}

func drawn(users int, begin func() (int32, func(before int32) int32)) (all []History) {
	for range users {
		i, next := begin()
		var h History
		for at := range 8 {
			h = append(h, Event{Item: i, Weight: 1, Time: int64(at)})
			i = next(i)
		}
		all = append(all, h)
	}
	return all
}

// chosen learns a model and returns it with its choice, nil for none.
func chosen(t *testing.T, spec Spec, b *spectral.Basis, h fit.Histories) (*Model, *fit.Choice) {
	t.Helper()
	var c *fit.Choice
	h.Chosen = func(got *fit.Choice) map[string]string {
		c = got
		return map[string]string{"choice": got.String()}
	}
	m := check.Get(New(spec, b, itemNames(b.N), h))(t)
	return m, c
}

func choiceSpec(ridge float64) Spec {
	spec := testSpec()
	learnedBands(&spec, true)
	spec.Dynamics.Ridge = ridge
	return spec
}

// TestChooseTheLargestRank: which item comes next takes all coordinates.
func TestChooseTheLargestRank(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 1))
	m, c := chosen(t, choiceSpec(1e-3), randomBasis(rng, choiceItems, choiceItems), fit.Histories{
		Train: slices.Values(chains(rng, 400)), Validation: chains(rng, 60),
		Candidates: fit.Candidates{Ranks: []int{8, 16, 32}},
	})
	if c == nil || c.Rank != choiceItems || m.Rank() != choiceItems || c.Of != choiceItems ||
		c.Ridge != 1e-3 {
		t.Fatalf("%+v, want the rank of the basis and the given ridge", c)
	}
	var ranks []int
	for _, tried := range c.Tried {
		ranks = append(ranks, tried.Rank)
	}
	if d := cmp.Diff([]int{64, 32, 16}, ranks); d != "" {
		t.Errorf("tried ranks (-want +got), 8 after two that are worse:\n%s", d)
	}
}

// TestChooseASmallRank: with few users the coordinates that tell nothing are noise in a regression
// with next to no ridge. The model is that of the first columns of the basis.
func TestChooseASmallRank(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 1))
	spec, b := choiceSpec(1e-4), grouped(rng)
	h := fit.Histories{
		Train: slices.Values(rounds(rng, 40)), Validation: rounds(rng, 150),
		Candidates: fit.Candidates{Ranks: []int{choiceGroups, 16, 32}},
	}
	m, c := chosen(t, spec, b, h)
	if c == nil || c.Rank != choiceGroups || m.Rank() != choiceGroups || c.Of != choiceItems {
		t.Fatalf("%+v, want rank %d", c, choiceGroups)
	}
	if c.Tried[0].Value > c.Tried[len(c.Tried)-1].Value-0.05 {
		t.Errorf("tried %v, want the largest rank to be much worse", c.Values())
	}
	check.Same(t, c.String(), m.Spec().Provenance["choice"], "the provenance")
	h.Candidates.Ranks = nil
	same := mustNewFrom(t, spec, b.Prefix(choiceGroups), h)
	opt := cmp.Options{cmp.AllowUnexported(learnedDynamics{}), cmpopts.EquateApprox(1e-3, 1e-6)}
	if d := cmp.Diff(same.transition, m.transition, opt); d != "" {
		t.Errorf("dynamics (-of the first columns +chosen):\n%s", d)
	}
	check.Same(t, same.basis, m.basis, "basis (-of the first columns +chosen)")
	check.Same(t, [2][]float64{same.kappa, same.lambda}, [2][]float64{m.kappa, m.lambda},
		"eigenvalues (-of the first columns +chosen)")
}

// TestChooseTheRidge: for the same users a large ridge is better at the rank of the basis.
func TestChooseTheRidge(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 1))
	m, c := chosen(t, choiceSpec(1e-4), grouped(rng), fit.Histories{
		Train: slices.Values(rounds(rng, 40)), Validation: rounds(rng, 150),
		Candidates: fit.Candidates{Ridges: []float64{0.1, 1e-5}},
	})
	if c == nil || c.Rank != choiceItems || c.Ridge != 0.1 || m.Spec().Dynamics.Ridge != 0.1 {
		t.Errorf("%+v, want the rank as it was and ridge 0.1", c)
	}
	if len(c.Tried) != 2 {
		t.Errorf("tried %s, want no smaller ridge when a larger one is better", c.Values())
	}
}

// strays are users of one group each, who take every other item of any group.
func strays(rng *rand.Rand, users int) []History {
	return drawn(users, func() (int32, func(before int32) int32) {
		group := rng.Int32N(choiceGroups)
		return rng.Int32N(choiceItems), func(int32) int32 {
			if rng.IntN(2) == 0 {
				return rng.Int32N(choiceItems)
			}
			return group + choiceGroups*rng.Int32N(choiceItems/choiceGroups)
		}
	})
}

// TestChooseTheBands: the slowest band goes where the item before tells all, and stays where many
// items are needed to tell the group of a user.
func TestChooseTheBands(t *testing.T) {
	for name, c := range map[string]struct {
		users func(rng *rand.Rand, users int) []History
		want  int
	}{"chains": {chains, 2}, "strays": {strays, 3}} {
		rng := rand.New(rand.NewPCG(37, 1))
		spec, b := choiceSpec(1), grouped(rng)
		h := fit.Histories{
			Train: slices.Values(c.users(rng, 400)), Validation: c.users(rng, 200),
			Candidates: fit.Candidates{FewerBands: true},
		}
		m, choice := chosen(t, spec, b, h)
		if choice == nil || choice.Bands != c.want || choice.Rank != choiceItems ||
			len(choice.Tried) != 2 {
			t.Fatalf("%s: %+v, want %d bands out of two candidates", name, choice, c.want)
		}
		h.Candidates, spec.Dynamics.Bands = fit.Candidates{}, spec.Dynamics.Bands[:c.want]
		same := mustNewFrom(t, spec, b, h)
		check.Same(t, same.Spec().Dynamics, m.Spec().Dynamics, "%s: dynamics", name)
		opt := cmp.Options{cmp.AllowUnexported(learnedDynamics{}), cmpopts.EquateApprox(1e-3, 1e-6)}
		if d := cmp.Diff(same.transition, m.transition, opt); d != "" {
			t.Errorf("%s: dynamics (-of these bands +chosen):\n%s", name, d)
		}
	}
}

// TestNothingIsChosen: neither without candidates nor on a few positions.
func TestNothingIsChosen(t *testing.T) {
	rng := rand.New(rand.NewPCG(34, 1))
	b, h := grouped(rng), fit.Histories{Train: slices.Values(rounds(rng, 40))}
	for _, c := range []struct {
		ranks      []int
		validation int
	}{{nil, 150}, {[]int{4, 16}, 30}} {
		h.Candidates.Ranks, h.Validation = c.ranks, rounds(rng, c.validation)
		m, choice := chosen(t, choiceSpec(0.5), b, h)
		if choice != nil || m.Rank() != choiceItems || m.Spec().Dynamics.Ridge != 0.5 {
			t.Errorf("%v on %d users: %+v, rank %d, ridge %v", c.ranks, c.validation, choice,
				m.Rank(), m.Spec().Dynamics.Ridge)
		}
	}
}

// TestChoiceOnAnyProcessors: a choice, and the model with it, is the same in all bits.
func TestChoiceOnAnyProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var version string
	var first *fit.Choice
	for _, processors := range []int{1, 3} {
		runtime.GOMAXPROCS(processors)
		rng := rand.New(rand.NewPCG(35, 1))
		spec := choiceSpec(1)
		spec.Local = local.Default()
		m, c := chosen(t, spec, grouped(rng), fit.Histories{
			Train: slices.Values(rounds(rng, 100)), Validation: rounds(rng, 150),
			Candidates: fit.Candidates{
				Ranks: []int{4, 8, 32}, Ridges: []float64{0.3, 3, 9}, FewerBands: true,
			},
		})
		if first == nil {
			version, first = m.Version(), c
		}
		if d := cmp.Diff(first, c); d != "" || m.Version() != version {
			t.Errorf("%d processors: version %s, want %s; choice:\n%s", processors, m.Version(),
				version, d)
		}
	}
}
