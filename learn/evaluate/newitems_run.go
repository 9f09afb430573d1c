package evaluate

import (
	"slices"

	"github.com/gsimc/gsimc/learn/train"

	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model"
)

// NewItemsResult holds the figures of one model: on the test users whose target is a hidden item,
// and on the others.
type NewItemsResult struct {
	Model  string // one of the models of Compare
	Placed int    // hidden items that the model knows
	Items  int    // all items that it knows
	New    Result // targets that were hidden
	Known  Result // other targets
}

// The models of Compare.
const (
	FullModel     = "trained on all"
	ReducedModel  = "trained without them"
	ExtendedModel = "and extended"
	ShownModel    = "trained on what was shown"
)

// NewItemsModels are the models that [NewItems.Compare] compares, each trained on the partition of
// the same name.
type NewItemsModels struct{ Full, Reduced, Shown *model.Model }

// Compare ranks the targets of the test users by these models, and by the model of Reduced
// extended. The model of Shown has the same knowledge of the hidden items as the extended one. Each
// folds the histories by method. A target unknown to a model is ranked last. Progress, if not nil,
// is told the number of users done.
func (x *NewItems) Compare(
	method ModelMethod, of NewItemsModels, progress func(done, total int),
) ([]NewItemsResult, error) {
	extended, err := x.Extend(of.Reduced)
	if err != nil {
		return nil, err
	}
	models := []struct {
		name string
		m    *model.Model
	}{
		{FullModel, of.Full}, {ReducedModel, of.Reduced}, {ExtendedModel, extended},
		{ShownModel, of.Shown},
	}
	var results []NewItemsResult
	test := &x.Full.Test
	for at, c := range models {
		var told func(int)
		if progress != nil {
			told = func(done int) { progress(at*test.Len()+done, len(models)*test.Len()) }
		}
		r := x.measure(method, c.m, test, told)
		r.Model = c.name
		results = append(results, r)
	}
	return results, nil
}

// measure ranks the targets of the users of h by m.
func (x *NewItems) measure(
	method ModelMethod, m *model.Model, h *dataset.Histories, progress func(done int),
) NewItemsResult {
	ranks := make([]int32, h.Len())
	forEach(h.Len(), progress, func() func(u int) {
		scores, q := make([]float32, m.NumItems()), m.NewQuery()
		return func(u int) {
			ranks[u] = x.rankTarget(method, m, train.History(h, u), scores, q)
		}
	})
	var fresh, known []int32
	for u, r := range ranks {
		items := h.Of(u)
		if x.place[items[len(items)-1]] >= int32(len(x.Reduced.Items)) {
			fresh = append(fresh, r)
		} else {
			known = append(known, r)
		}
	}
	out := NewItemsResult{
		Items: m.NumItems(), New: newResult(method.Name(), fresh),
		Known: newResult(method.Name(), known),
	}
	for _, id := range x.Hidden {
		if _, ok := m.ItemIndex(id); ok {
			out.Placed++
		}
	}
	return out
}

// rankTarget ranks the last event of a history of Full. The query of m comes from the earlier
// events on items that m knows.
func (x *NewItems) rankTarget(
	method ModelMethod, m *model.Model, h model.History, scores []float32, q *model.Query,
) int32 {
	last := len(h) - 1
	target, ok := m.ItemIndex(x.Full.Items[h[last].Item])
	if !ok {
		return int32(len(x.Full.Items))
	}
	var past model.History
	var seen []int32
	for _, e := range h[:last] {
		if e.Item, ok = m.ItemIndex(x.Full.Items[e.Item]); ok {
			past = append(past, e)
			seen = append(seen, e.Item)
		}
	}
	method.queryTo(q, m, past)
	m.ScoresTo(scores, q)
	return rank(scores, target, seen)
}

// ReachedHR returns the HR@n of the extended model on the new targets, over the HR@n of the model
// beside it, one of the models of Compare. It is not ok if that model finds no new target.
func ReachedHR(results []NewItemsResult, beside string, n int) (share float64, ok bool) {
	at := func(name string) float64 {
		i := slices.IndexFunc(results, func(r NewItemsResult) bool { return r.Model == name })
		j := slices.Index(Cutoffs, n)
		if i < 0 || j < 0 {
			return 0
		}
		return results[i].New.Metrics[j].HR
	}
	other := at(beside)
	if other == 0 {
		return 0, false
	}
	return at(ExtendedModel) / other, true
}
