package evaluate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gsimc/gsimc/learn/train"

	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model"
)

// MinHiddenUsers is the smallest number of training users of an item that [HideItems] may hide.
// Fewer users say too little about an item to place it in the model.
const MinHiddenUsers = 5

// NewItems is the protocol for items that appear after the training. Some items are hidden from the
// training. The histories of a share of the training users then show them to the model
// ([model.Model.Extend]). They are the targets in the histories of the test users.
type NewItems struct {
	Full    *dataset.Partition // with all items
	Reduced *dataset.Partition // without the hidden items; trains the model to be extended
	Shown   *dataset.Partition // with those of the hidden items that the extension sees
	Hidden  []string           // ids of the hidden items, in bytewise order

	// place holds for each item of Full its index in Reduced.Items. For a hidden item it is
	// len(Reduced.Items) plus its index in Hidden.
	place []int32
	shown []int // training users of Full whose histories the extension sees, in rising order
}

// HiddenItems are the choices of [HideItems].
type HiddenItems struct {
	Share float64 // hidden share of the items with MinHiddenUsers users or more, in (0, 1)
	Shown float64 // share of the training users whose histories the extension sees, in (0, 1]
	Seed  uint64
}

// HideItems draws the hidden items and the users that show them. The same seed draws the same ones.
// The reduced training leaves out training users without other items, and validation users with
// fewer than two other items.
func HideItems(p *dataset.Partition, opt HiddenItems) (*NewItems, error) {
	rng := rand.New(rand.NewPCG(opt.Seed, 0x6e6577)) // "new": a stream of its own
	var eligible []int32
	for i, d := range train.Incidence(p).Degrees() {
		if d >= MinHiddenUsers {
			eligible = append(eligible, int32(i))
		}
	}
	count := int(opt.Share * float64(len(eligible)))
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
	users := max(1, int(opt.Shown*float64(p.Train.Len())))
	x := &NewItems{Full: p, shown: rng.Perm(p.Train.Len())[:users]}
	slices.Sort(x.shown)
	x.reduce(hidden)
	x.show()
	if x.Reduced.Train.Len() == 0 {
		return nil,
			errors.New("nothing is left to train on: every training user has hidden items only")
	}
	return x, nil
}

// reduce makes Reduced, Hidden and place.
func (x *NewItems) reduce(hidden []bool) {
	x.Reduced = &dataset.Partition{}
	x.place = make([]int32, len(hidden))
	for i, id := range x.Full.Items {
		if hidden[i] {
			x.Hidden = append(x.Hidden, id)
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
	known := func(_ int, i int32) bool { return !hidden[i] }
	x.Reduced.Train = without(&x.Full.Train, 1, known)
	x.Reduced.Validation = without(&x.Full.Validation, 2, known)
	x.Reduced.Test = without(&x.Full.Test, 2, known)
	for _, h := range []*dataset.Histories{
		&x.Reduced.Train, &x.Reduced.Validation, &x.Reduced.Test,
	} {
		for j, i := range h.Item {
			h.Item[j] = x.place[i]
		}
	}
}

// show makes Shown. Its validation users have no hidden items, as those of Reduced.
func (x *NewItems) show() {
	first := int32(len(x.Reduced.Items))
	known := func(_ int, i int32) bool { return x.place[i] < first }
	x.Shown = &dataset.Partition{
		Items: x.Full.Items,
		Train: without(&x.Full.Train, 1, func(u int, i int32) bool {
			_, shown := slices.BinarySearch(x.shown, u)
			return shown || known(u, i)
		}),
		Validation: without(&x.Full.Validation, 2, known),
		Test:       x.Full.Test,
	}
}

// without copies the events that keep accepts, told the index of the history and the item.
// Histories with fewer than fewest of them are dropped.
func without(
	h *dataset.Histories, fewest int, keep func(u int, item int32) bool,
) dataset.Histories {
	out := dataset.Histories{Ptr: []int64{0}}
	for u := range h.Len() {
		var kept []int64
		for j := h.Ptr[u]; j < h.Ptr[u+1]; j++ {
			if keep(u, h.Item[j]) {
				kept = append(kept, j)
			}
		}
		if len(kept) < fewest {
			continue
		}
		for _, j := range kept {
			appendEvent(&out, h.Item[j], h.Time, h.Weight, j)
		}
		endHistory(&out, int(h.User[u]))
	}
	return out
}

// Extend shows the hidden items to m, a model of Reduced, and returns the extended model. An item
// of fewer than [model.MinNewUsers] shown users stays unknown.
func (x *NewItems) Extend(m *model.Model) (*model.Model, error) {
	evidence, err := m.NewEvidence(x.Hidden, nil)
	if err != nil {
		return nil, err
	}
	users := make([]int64, len(x.Hidden))
	first := int32(len(x.Reduced.Items))
	for _, u := range x.shown {
		items := x.Full.Train.Of(u)
		history := make([]int32, len(items))
		for j, i := range items {
			if history[j] = x.place[i]; history[j] >= first {
				users[history[j]-first]++
			}
		}
		evidence.Add(history)
	}
	population := float64(len(x.shown)) / float64(m.NumTrainUsers())
	var items []model.NewItem
	for i := range x.Hidden {
		if users[i] < model.MinNewUsers {
			continue
		}
		item, err := evidence.Place(i, float64(users[i])/population)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return m.Extend(items)
}
