package dynamics

import (
	"math"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/kalman"
)

func TestNewMomentsErrors(t *testing.T) {
	good := []kalman.History{{{Item: 0, Weight: 1}, {Item: 1, Weight: 1}}}
	bands := Options{Bands: []kalman.Band{{Rho: 0.5}}}
	tests := []struct {
		name      string
		histories []kalman.History
		opt       Options
		want      string
	}{
		{"no bands", good, Options{}, "Bands: there are 0"},
		{"too many bands", good, Options{Bands: make([]kalman.Band, kalman.MaxBands+1)},
			"Bands: there are 17"},
		{"band", good, Options{Bands: []kalman.Band{{}, {Rho: 2}}}, "Bands[1]: Rho: 2"},
		{"positions", good, Options{Bands: bands.Bands, Positions: -1}, "Positions: -1"},
		{"targets", good, Options{Bands: bands.Bands, Targets: -1}, "Targets: -1"},
		{"nobody", nil, bands, "no user of 0"},
		{"one event", []kalman.History{good[0][:1], nil}, bands, "no user of 2 has two items"},
		{"item", []kalman.History{nil, {{Item: 0}, {Item: 2}}},
			bands, "history 1: event 1: Item: 2, want 0 to 1"},
		{"negative item", []kalman.History{{{Item: -1}, {Item: 0}}},
			bands, "history 0: event 0: Item: -1"},
		{"weight", []kalman.History{{{Weight: float32(math.NaN())}, {Item: 0}}},
			bands, "history 0: event 0: Weight: NaN"},
	}
	for _, test := range tests {
		_, err := NewMoments(2, slices.Values(test.histories), test.opt)
		check.Says(t, err, test.want, "%s", test.name)
	}
}

// Times whose difference does not fit count as a very long time, and an event from before counts as
// no time.
func TestDecayOfExtremeTimes(t *testing.T) {
	h := kalman.History{
		{Weight: 1, Time: math.MinInt64}, {Weight: 1, Time: math.MaxInt64}, {Weight: 1, Time: 0},
	}
	m := newMoments(t, 1, []kalman.History{h}, Options{
		Bands: []kalman.Band{{Rho: 0.5, HalfLife: 10}},
	})
	check.Same(t, []float32{0.5, 0, 0.5}, m.faded[0], "decay")
}

// Beyond the bound every second or third user counts, and the sums are those of these users alone.
func TestMomentsOfManyTargets(t *testing.T) {
	var histories []kalman.History
	for u := range int32(6) {
		histories = append(histories, kalman.History{
			{Item: u, Weight: 1}, {Item: 5 - u, Weight: 1}, {Item: (u + 2) % 6, Weight: 1},
		}, kalman.History{{Item: u, Weight: 1}}) // who has one event does not count
	}
	tests := []struct {
		positions, targets int
		want               []int // users who count
	}{
		{0, 0, []int{0, 1, 2, 3, 4, 5}},
		{0, 12, []int{0, 1, 2, 3, 4, 5}},
		{0, 11, []int{1, 2, 3, 4, 5}},
		{0, 6, []int{1, 3, 5}},
		{1, 6, []int{0, 1, 2, 3, 4, 5}},
		{1, 2, []int{2, 5}},
		{0, 1, []int{5}},
	}
	for _, test := range tests {
		opt := Options{Bands: []kalman.Band{{Rho: 0.5}, {Rho: 0.9}}, Positions: test.positions}
		var some []kalman.History
		for _, u := range test.want {
			some = append(some, histories[2*u])
		}
		want := newMoments(t, 6, some, opt)
		opt.Targets = test.targets
		got := newMoments(t, 6, histories, opt)
		check.Same(t, want.item, got.item, "%d targets: items", test.targets)
		check.Same(t, want.mass, got.mass, "%d targets: mass", test.targets)
		check.Same(t, want.count, got.count, "%d targets: targets", test.targets)
	}
}
