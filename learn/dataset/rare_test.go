package dataset

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
)

// powerLaw adds users of 12 common items each, and as many rare items with one user each.
func powerLaw(t *testing.T, users, common, rare int, opt Options) (*Interactions, *Report) {
	t.Helper()
	b := check.Get(NewBuilder("test", opt))(t)
	add := func(user, item string) {
		check.Must(t, b.Add(user, item, 0, 1))
	}
	for u := range users {
		for j := range 12 {
			add(fmt.Sprint("u", u), fmt.Sprint("c", (u+j)%common))
		}
	}
	for i := range rare {
		add(fmt.Sprint("u", i%users), fmt.Sprint("r", i))
	}
	d, report, err := b.Interactions()
	check.Must(t, err)
	return d, report
}

func TestLeaveOutRare(t *testing.T) {
	for _, tt := range []struct {
		name                string
		users, common, rare int
		items, filter       int
	}{
		{"a large catalogue", 300, 60, 2500, 60, RareEvents},
		{"a small catalogue", 300, 60, 1940, 2000, 0},
		{"too few users would be left", 150, 60, 2500, 2560, 0},
		{"too few events would be left", 300, 60, 6000, 6060, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, report := powerLaw(t, tt.users, tt.common, tt.rare, Options{LeaveOutRare: true})
			if d.NumItems() != tt.items || report.MinUserEvents != tt.filter ||
				report.MinItemEvents != tt.filter {
				t.Errorf("%d items with the filters %d and %d, want %d and %d",
					d.NumItems(), report.MinUserEvents, report.MinItemEvents, tt.items, tt.filter)
			}
			check.Same(t, tt.common+tt.rare-tt.items, report.FilteredItems, "items filtered")
			if tt.filter == 0 {
				return
			}
			want, explicit := powerLaw(t, tt.users, tt.common, tt.rare,
				Options{MinUserEvents: tt.filter, MinItemEvents: tt.filter})
			if diff := cmp.Diff(want, d); diff != "" || explicit.Hash != report.Hash {
				t.Errorf("differs from the explicit filter:\n%s", diff)
			}
		})
	}
	if err := (Options{LeaveOutRare: true, MinItemEvents: 2}).Validate(); err == nil {
		t.Error("two filters at once were taken")
	}
}
