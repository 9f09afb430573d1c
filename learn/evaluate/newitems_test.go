package evaluate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/learntest"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/evaluate"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/content"
	"github.com/gsimc/gsimc/spectral"
)

func hide(t *testing.T, p *dataset.Partition, share float64, seed uint64) *evaluate.NewItems {
	t.Helper()
	return check.Get(evaluate.HideItems(p, share, seed))(t)
}

// runNewItems trains with learned dynamics on what is not hidden, and runs the protocol.
func runNewItems(t *testing.T, x *evaluate.NewItems, rank int) []evaluate.NewItemsResult {
	t.Helper()
	p := x.Reduced
	spec := learnedSpec(p)
	spec.Dynamics.Positions, spec.Dynamics.Deviation = 200, false
	graph := spectral.Graph{Kind: spec.Graph, DegreeExponent: spec.DegreeExponent}
	basis := basisOf(t, p, graph, rank)
	m := check.Get(model.New(spec, basis, p.Items, train.LearnFrom(p)))(t)
	targets, results, err := x.Run(m, nil)
	if err != nil || targets[0] == 0 || targets[1] == 0 {
		t.Fatalf("%d new and %d known targets: %v", targets[0], targets[1], err)
	}
	return results
}

func TestHideItems(t *testing.T) {
	p := learntest.Checkerboard()
	x := hide(t, p, 0.25, 1)
	if len(x.Hidden) != 6 || len(x.Reduced.Items) != 18 {
		t.Fatalf("%d items hidden and %d left, want 6 and 18", len(x.Hidden), len(x.Reduced.Items))
	}
	for _, id := range x.Hidden {
		if slices.Contains(x.Reduced.Items, id) {
			t.Errorf("%s is hidden and is not", id)
		}
	}
	// What is left of a training user's history are its items that are not hidden, in order.
	for u := range x.Reduced.Train.Len() {
		var want, got []string
		for _, i := range p.Train.Of(int(x.Reduced.Train.User[u])) {
			if id := p.Items[i]; !slices.Contains(x.Hidden, id) {
				want = append(want, id)
			}
		}
		for _, i := range x.Reduced.Train.Of(u) {
			got = append(got, x.Reduced.Items[i])
		}
		check.MustSame(t, want, got, "user %d", u)
	}
	check.Same(t, x.Hidden, hide(t, p, 0.25, 1).Hidden, "the same seed hides other items")
	if cmp.Equal(x.Hidden, hide(t, p, 0.25, 2).Hidden) {
		t.Error("another seed hides the same items")
	}
	if _, err := evaluate.HideItems(p, 0.01, 1); err == nil {
		t.Error("no item to hide, and no error")
	}
	barred := []string{"10", "11", "12"} // as attributes of users
	p.Hide(func(id string) bool { return slices.Contains(barred, id) })
	reduced := hide(t, p, 0.25, 1).Reduced
	for _, h := range []*dataset.Histories{&reduced.Validation, &reduced.Test} {
		var got []string
		for _, i := range h.Hidden {
			got = append(got, reduced.Items[i])
		}
		check.Same(t, barred, got, "what is hidden of what is left")
		for u := range h.Len() {
			items := h.Of(u)
			check.Same(t, false, slices.Contains(h.Hidden, items[len(items)-1]), "a hidden target")
		}
	}
}

// colours are histories of users who each take items of one colour, as a rule, and popular ones
// more often than others.
func colours(seed uint64) *dataset.Partition {
	const colours, each = 6, 40
	rng := rand.New(rand.NewPCG(seed, 1))
	p := &dataset.Partition{}
	for i := range colours * each {
		p.Items = append(p.Items, fmt.Sprintf("%03d", i))
	}
	clock := int64(0)
	fill := func(h *dataset.Histories, users int) {
		h.Ptr = []int64{0}
		for u := range users {
			colour, begin := rng.IntN(colours), len(h.Item)
			for len(h.Item) < begin+8 {
				rank := int(float64(each) * math.Pow(rng.Float64(), 2))
				i := int32(colour + colours*rank)
				if rng.IntN(8) == 0 {
					i = int32(rng.IntN(colours * each))
				}
				if clock++; !slices.Contains(h.Item[begin:], i) {
					h.Item, h.Time = append(h.Item, i), append(h.Time, clock)
				}
			}
			h.User, h.Ptr = append(h.User, int32(u)), append(h.Ptr, int64(len(h.Item)))
		}
	}
	fill(&p.Train, 800)
	fill(&p.Validation, 100)
	fill(&p.Test, 200)
	return p
}

// A new item never costs the known ones more than it brings, however few users it has.
func TestNewItemsPayForThemselves(t *testing.T) {
	for seed := range uint64(3) {
		p := colours(seed)
		if seed == 2 {
			p.Train.Time, p.Validation.Time, p.Test.Time = nil, nil, nil
		}
		for _, r := range runNewItems(t, hide(t, p, 0.2, seed), 24) {
			if r.Method != evaluate.Dynamics {
				continue // it ranks without regard to who asks: a new item is listed for all
			}
			if r.Change < -2*r.ChangeErr {
				t.Errorf("data %d: %d users shown change the NDCG@50 of all targets by "+
					"%+.1f ± %.1f %%", seed, r.Shown, 100*r.Change, 100*r.ChangeErr)
			}
			if r.Shown == 10 && r.New.HR < 0.5 {
				t.Errorf("data %d: HR@50 of new targets is %.2f after ten users", seed, r.New.HR)
			}
			if r.Shown == 0 && (r.New.HR != 0 || r.Known.HR == 0 || r.Change != 0) {
				t.Errorf("data %d: without new items %+v", seed, r)
			}
		}
	}
}

// Where content decides, what new items say of themselves lists them before their first user, and
// known items lose next to nothing.
func TestNewItemsByContent(t *testing.T) {
	p := colours(7)
	x := hide(t, p, 0.2, 7)
	x.Content = map[string]content.Document{}
	for i, id := range p.Items {
		x.Content[id] = content.Document{Title: fmt.Sprint("item ", i),
			Categories: []string{fmt.Sprint("colour ", i%6)}}
	}
	figures := map[string][]evaluate.NewItemsResult{}
	for _, r := range runNewItems(t, x, 24) {
		figures[r.Method] = append(figures[r.Method], r)
	}
	plain, with := figures[evaluate.Dynamics], figures[evaluate.WithContent]
	for at, r := range with {
		if r.Change < plain[at].Change-2*r.ChangeErr {
			t.Errorf("%d users shown: content changes the NDCG@50 of all targets from %+.3f to "+
				"%+.3f ± %.3f", r.Shown, plain[at].Change, r.Change, r.ChangeErr)
		}
		if r.New.HR < plain[at].New.HR || r.Known.HR < 0.9*plain[0].Known.HR {
			t.Errorf("%d users shown: HR@50 of new targets %.2f, %.2f without content; of known "+
				"ones %.2f, %.2f without new items", r.Shown, r.New.HR, plain[at].New.HR,
				r.Known.HR, plain[0].Known.HR)
		}
	}
	if with[0].New.HR < 0.4 || with[0].Change <= 0 {
		t.Errorf("without users HR@50 of new targets is %.2f, change %+.3f", with[0].New.HR,
			with[0].Change)
	}
	if alone := figures[evaluate.ByContent]; len(alone) != 1 || alone[0].New.HR < 0.1 {
		t.Errorf("by content alone: %+v", alone)
	}
}

// TestNewItemsReference is the acceptance on public data: a fifth of the items come after the
// training.
func TestNewItemsReference(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: the reference data takes some seconds")
	}
	p, _ := loadReference(t, "movietweetings")
	for _, r := range runNewItems(t, hide(t, p, 0.2, 1), 128) {
		t.Logf("%s, %d shown: HR@50 of new targets %.3f, change for all %+.1f ± %.1f %%", r.Method,
			r.Shown, r.New.HR, 100*r.Change, 100*r.ChangeErr)
		if r.Method != evaluate.Dynamics {
			continue
		}
		if r.Change < -2*r.ChangeErr-0.002 {
			t.Error("new items cost more than they bring")
		}
		if r.Shown == 10 && r.New.HR < 0.15 {
			t.Errorf("HR@50 of new targets is %.3f after ten users, want at least 0.15", r.New.HR)
		}
	}
}
