package state

import (
	"testing"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/servertest"
	"github.com/gsimc/gsimc/store"
)

// States of users without new items live through an extension; those with one are rebuilt.
func TestExtensionKeepsStates(t *testing.T) {
	base := servertest.NewModel(t, 1)
	evidence, err := base.NewEvidence([]string{"novelty"}, nil)
	must(t, err)
	evidence.Add([]int32{0, 1, int32(base.NumItems())})
	placed, err := evidence.Place(0, 3)
	must(t, err)
	extended, err := base.Extend([]model.NewItem{placed})
	must(t, err)
	f := NewUpdater(nil)
	for _, test := range []struct {
		items []string
		want  bool
	}{{[]string{servertest.Item(1), servertest.Item(2)},
		true}, {[]string{servertest.Item(1), "novelty"}, false}, {[]string{"other"}, false},
		{nil, true}} {
		u := New(base, nil)
		for _, id := range test.items {
			f.Fold(base, u, store.Event{Item: id, Type: "event", Value: 1})
		}
		weights := f.table.Load()
		if len(test.items) > 0 && u.adopt(base, NewUpdater(nil).table.Load()) {
			t.Errorf("a state with %v is taken for one by other weights", test.items)
		}
		if u.adopt(extended, weights) != test.want || u.adopt(servertest.NewModel(t, 2), weights) {
			t.Errorf("a state with %v is that of the extension: want %v, and never that of another model",
				test.items, test.want)
		}
	}
}
