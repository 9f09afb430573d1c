package dataset

import (
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// threeUsers are users of three, one and two events.
func threeUsers() *Interactions {
	return &Interactions{
		Users: []string{"a", "b", "c"}, Items: []string{"w", "x", "y", "z"},
		Ptr: []int64{0, 3, 4, 6}, Item: []int32{2, 0, 3, 1, 1, 0},
		Time: []int64{1, 2, 3, 4, 5, 6}, Weight: []float32{.1, .2, .3, .4, .5, .6},
	}
}

func TestHoldOutLast(t *testing.T) {
	for _, c := range []struct {
		users, items []int32
		want         func(*Interactions)
	}{
		{nil, []int32{}, func(*Interactions) {}},
		{[]int32{0, 2}, []int32{3, 0}, func(d *Interactions) {
			d.Ptr, d.Item, d.Time, d.Weight = []int64{0, 2, 3, 4}, []int32{2, 0, 1, 1},
				[]int64{1, 2, 4, 5}, []float32{.1, .2, .4, .5}
		}},
		{[]int32{1}, []int32{1}, func(d *Interactions) { // a user without events is left
			d.Ptr, d.Item, d.Time, d.Weight = []int64{0, 3, 3, 5}, []int32{2, 0, 3, 1, 0},
				[]int64{1, 2, 3, 5, 6}, []float32{.1, .2, .3, .5, .6}
		}},
	} {
		got, want := threeUsers(), threeUsers()
		c.want(want)
		items := got.HoldOutLast(c.users)
		check.Same(t, c.items, items, "%v: items", c.users)
		check.Same(t, want, got, "%v: the rest", c.users)
	}
	for _, users := range [][]int32{{1, 1}, {2, 0}, {3}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v: want a panic", users)
				}
			}()
			threeUsers().HoldOutLast(users)
		}()
	}
}

func TestOnly(t *testing.T) {
	d := threeUsers()
	want := &Interactions{
		Users: []string{"a", "c"}, Items: d.Items,
		Ptr: []int64{0, 3, 5}, Item: []int32{2, 0, 3, 1, 0}, Time: []int64{1, 2, 3, 5, 6},
		Weight: []float32{.1, .2, .3, .5, .6},
	}
	got := d.Only([]int32{0, 2})
	check.Same(t, want, got, "users 0 and 2")
	if got.Item[0] = 1; d.Item[0] != 2 {
		t.Error("the copy shares memory")
	}
}

// TestHeldOut: items that the catalogue lacks are dropped, and then users with fewer than two.
func TestHeldOut(t *testing.T) {
	d := &Interactions{
		Users: []string{"a", "b", "c"}, Items: []string{"w", "x", "y", "z"},
		Ptr: []int64{0, 3, 5, 7}, Item: []int32{2, 0, 3, 1, 3, 0, 2},
		Time: []int64{1, 2, 3, 4, 5, 6, 7}, Weight: []float32{.1, .2, .3, .4, .5, .6, .7},
	}
	items := []string{"k", "w", "x", "y"}
	got := d.HeldOut(items)
	empty := Histories{Ptr: []int64{0}}
	want := &Partition{Items: items, Train: empty, Test: empty, Validation: Histories{
		User: []int32{0, 2}, Ptr: []int64{0, 2, 4}, Item: []int32{3, 1, 1, 3},
		Time: []int64{1, 2, 6, 7}, Weight: []float32{.1, .2, .6, .7},
	}}
	check.Same(t, want, got, "result")
	check.Same(t, 7, d.Len(), "events after the split")
}
