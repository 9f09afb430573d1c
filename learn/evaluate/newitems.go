package evaluate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/content"
	"github.com/gsimc/gsimc/model/trend"
)

// MinHiddenUsers is the smallest number of training users of an item that [HideItems] may hide.
// Fewer users say too little about an item to be a target often.
const MinHiddenUsers = 5

// NewItems is the protocol for items that appear after the training, all at once. Some items are
// hidden from the training. Then a few early users of each show it to the model
// ([model.Model.Extend]), and it is among the targets of the test users.
//
// A user is as likely to come early as any other, and the events between the first user and the
// m-th are drawn from Gamma(m−1, 1/d) times those of the training: d users at random times. It is
// the moment of the m-th user, at which its number overrates an item most. The real times would
// be no better: users are split, so that targets lie before an item's time as well as after it, and
// its rate since then says little about them.
type NewItems struct {
	Reduced *dataset.Partition // without the hidden items; trains the model to be extended
	Hidden  []string           // ids of the hidden items, in bytewise order

	// Content is what items say of themselves, by id; nil: nothing is known.
	Content map[string]content.Document

	full    *dataset.Partition // with all items
	tested  *dataset.Histories // the users whose events are targets
	item    []int32            // of Hidden, in full
	place   []int32            // of the items of full in Reduced.Items, then in Hidden
	comings [][]coming         // of each hidden item, in order
}

// coming is a training user who takes a hidden item.
type coming struct {
	user  int     // of full.Train
	since float64 // events of the training users since the item's first one
}

// HideItems draws a share of the items with [MinHiddenUsers] training users or more, in (0, 1), and
// hides them. The same seed draws the same ones. The reduced training leaves out training users
// without other items, and validation users with fewer than two other items. What
// [dataset.Partition.Hide] has hidden is not drawn, and is no target.
func HideItems(p *dataset.Partition, share float64, seed uint64) (*NewItems, error) {
	rng := rand.New(rand.NewPCG(seed, 0x6e6577)) // "new": a stream of its own
	var eligible []int32
	barred := ranking.SetOf(len(p.Items), p.Test.Hidden...)
	for i, d := range train.Incidence(p).Degrees() {
		if d >= MinHiddenUsers && !barred.Has(int32(i)) {
			eligible = append(eligible, int32(i))
		}
	}
	count := int(share * float64(len(eligible)))
	if count == 0 {
		return nil, fmt.Errorf("no item to hide: %d of the %d items have %d training users or more",
			len(eligible), len(p.Items), MinHiddenUsers)
	}
	rng.Shuffle(len(eligible), func(a, b int) {
		eligible[a], eligible[b] = eligible[b], eligible[a]
	})
	hidden := make([]bool, len(p.Items))
	for _, i := range eligible[:count] {
		hidden[i] = true
	}
	x := &NewItems{full: p, tested: &p.Test}
	x.reduce(hidden)
	if x.Reduced.Train.Len() == 0 {
		return nil,
			errors.New("nothing is left to train on: every training user has hidden items only")
	}
	x.come(rng)
	return x, nil
}

// reduce makes Reduced, Hidden and place.
func (x *NewItems) reduce(hidden []bool) {
	x.Reduced = &dataset.Partition{}
	x.place = make([]int32, len(hidden))
	for i, id := range x.full.Items {
		if hidden[i] {
			x.Hidden, x.item = append(x.Hidden, id), append(x.item, int32(i))
		} else {
			x.place[i] = int32(len(x.Reduced.Items))
			x.Reduced.Items = append(x.Reduced.Items, id)
		}
	}
	next := int32(len(x.Reduced.Items))
	for i := range hidden {
		if hidden[i] {
			x.place[i] = next
			next++
		}
	}
	x.Reduced.Train = x.without(&x.full.Train, 1)
	x.Reduced.Validation = x.without(&x.full.Validation, 2)
	x.Reduced.Test = x.without(&x.full.Test, 2)
	barred := map[string]bool{}
	for _, i := range x.full.Test.Hidden {
		barred[x.full.Items[i]] = true
	}
	x.Reduced.Hide(func(id string) bool { return barred[id] })
}

// isHidden tells it of an index of place.
func (x *NewItems) isHidden(place int32) bool { return int(place) >= len(x.Reduced.Items) }

// without copies the events on items that are not hidden, in the numbering of Reduced. Histories
// with fewer than fewest of them are dropped.
func (x *NewItems) without(h *dataset.Histories, fewest int) dataset.Histories {
	out := dataset.Histories{Ptr: []int64{0}}
	for u := range h.Len() {
		var kept []int64
		for j := h.Ptr[u]; j < h.Ptr[u+1]; j++ {
			if !x.isHidden(x.place[h.Item[j]]) {
				kept = append(kept, j)
			}
		}
		if len(kept) < fewest {
			continue
		}
		for _, j := range kept {
			appendEvent(&out, x.place[h.Item[j]], h.Time, h.Weight, j)
		}
		endHistory(&out, int(h.User[u]))
	}
	return out
}

// come makes comings.
func (x *NewItems) come(rng *rand.Rand) {
	train := &x.full.Train
	x.comings = make([][]coming, len(x.Hidden))
	for u := range train.Len() {
		for _, i := range train.Of(u) {
			if place := x.place[i]; x.isHidden(place) {
				of := &x.comings[int(place)-len(x.Reduced.Items)]
				*of = append(*of, coming{user: u})
			}
		}
	}
	for _, of := range x.comings {
		rng.Shuffle(len(of), func(a, b int) { of[a], of[b] = of[b], of[a] })
		between := float64(len(train.Item)) / float64(len(of)) // events, in the mean
		for m := 1; m < len(of); m++ {
			of[m].since = of[m-1].since + rng.ExpFloat64()*between
		}
	}
}

// Extend shows m early users of each hidden item to a model of Reduced, and returns the extended
// model. near holds the neighbours in content of each hidden item, or is nil.
func (x *NewItems) Extend(
	of *model.Model, m int, near [][]content.Neighbour,
) (*model.Model, error) {
	evidence, err := of.NewEvidence(x.Hidden, nil)
	if err != nil {
		return of, err
	}
	history := make([][]int32, x.full.Train.Len()) // by user; nil: shows nothing
	for i, users := range x.comings {
		for _, c := range users[:min(m, len(users))] {
			if history[c.user] == nil {
				history[c.user] = x.knownOf(c.user)
			}
			at := slices.Index(x.full.Train.Of(c.user), x.item[i])
			history[c.user][at] = int32(len(x.Reduced.Items) + i)
		}
	}
	for _, h := range history {
		if h != nil {
			evidence.Add(h)
		}
	}
	trained := trend.DegreesOf(of.NumItems(), of.Degree)
	var items []model.NewItem
	for i, users := range x.comings {
		var like []content.Neighbour
		if near != nil {
			like = near[i]
		}
		count, since := min(m, len(users)), 0.0
		if count > 0 {
			since = users[count-1].since
		} else if len(like) == 0 {
			continue // nothing is known of it
		}
		expected := trained.Expected(float64(count), since, of.DegreeNear(like))
		item, err := evidence.PlaceNear(i, expected, like)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return of.Extend(items)
}

// nearest returns the neighbours in content of each hidden item among those of Reduced.
func (x *NewItems) nearest() [][]content.Neighbour {
	index := indexOf(x.Content, len(x.Reduced.Items),
		func(i int32) string { return x.Reduced.Items[i] })
	near := make([][]content.Neighbour, len(x.Hidden))
	for i, id := range x.Hidden {
		near[i] = index.Nearest(x.Content[id], model.ContentNeighbours)
	}
	return near
}

// indexOf returns the index of what n items say of themselves.
func indexOf(
	documents map[string]content.Document, n int, id func(int32) string,
) *content.Index {
	return content.NewIndex(n, func(yield func(int32, content.Document) bool) {
		for i := range int32(n) {
			if d, ok := documents[id(i)]; ok && !yield(i, d) {
				return
			}
		}
	}, nil)
}

// knownOf returns the history of a training user in the numbering of Reduced; −1 stands for a
// hidden item.
func (x *NewItems) knownOf(u int) []int32 {
	history := slices.Clone(x.full.Train.Of(u))
	for at, i := range history {
		if history[at] = x.place[i]; x.isHidden(x.place[i]) {
			history[at] = -1
		}
	}
	return history
}
