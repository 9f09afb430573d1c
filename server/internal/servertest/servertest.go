// Package servertest helps to test the server and its parts: it has small models and a store with
// replaceable parts.
package servertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/spectral"
	"github.com/gsimc/gsimc/store"
)

// Now is the time of events that need one.
var Now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// The test model: 40 users with 6 items each, of a catalogue of 30; the first items are more
// popular.
const (
	Items = 30
	Users = 40
	Rank  = 8
)

// NewModel trains a small model; models of different seeds differ in their bases and so in their
// answers.
func NewModel(t testing.TB, seed uint64) *model.Model { return NewModelOf(t, seed, Item) }

// NewModelOf is NewModel with other item ids, which must rise.
func NewModelOf(t testing.TB, seed uint64, id func(int) string) *model.Model {
	t.Helper()
	return BuildModel(t, seed, id, func(*model.Spec) {})
}

// NewLearnedModel is NewModel with learned dynamics and, if wanted, deviation.
func NewLearnedModel(t testing.TB, seed uint64, deviation bool) *model.Model {
	t.Helper()
	return BuildModel(t, seed, Item, learned(deviation))
}

// learned makes the dynamics of a specification learned ones.
func learned(deviation bool) func(*model.Spec) {
	return func(s *model.Spec) {
		s.DegreeRescale = 0.6
		s.Dynamics = model.DynamicsSpec{
			Kind: model.DynamicsLearned, Bands: []kalman.Band{{Rho: 0.5}, {Rho: 0.9}}, Ridge: 1,
			Deviation: deviation,
		}
	}
}

// NewTastesModel trains a small model with learned dynamics and deviation on users of distinct
// tastes, so that it tells uncertainty: two of three items of a user are from the user's own third
// of the catalogue. The dynamics remember little, which leaves the taste to the deviation.
func NewTastesModel(t testing.TB) *model.Model {
	t.Helper()
	const tastes, events = 3, 12
	choose := func(rng *rand.Rand, user int) []int {
		own := func(i int) bool { return i/(Items/tastes) == user%tastes }
		items := rng.Perm(Items)
		items = slices.DeleteFunc(items, func(i int) bool { return !own(i) && rng.IntN(3) > 0 })
		return items[:min(events, len(items))]
	}
	return build(t, 1, Item, func(s *model.Spec) {
		learned(true)(s)
		s.Dynamics.Bands = []kalman.Band{{Rho: 0.1}}
	}, choose)
}

// BuildModel is NewModelOf with an edited specification.
func BuildModel(
	t testing.TB, seed uint64, id func(int) string, edit func(*model.Spec),
) *model.Model {
	t.Helper()
	return build(t, seed, id, edit, func(rng *rand.Rand, _ int) []int {
		items := rng.Perm(Items)[:6]
		for i := range items {
			if rng.IntN(2) == 0 {
				items[i] = rng.IntN(Items / 3)
			}
		}
		slices.Sort(items)
		return slices.Compact(items)
	})
}

// build trains a model on users whose items are chosen by choose, each item once.
func build(
	t testing.TB, seed uint64, id func(int) string, edit func(*model.Spec),
	choose func(rng *rand.Rand, user int) []int,
) *model.Model {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	inc := &spectral.Incidence{NumItems: Items, Ptr: []int64{0}}
	var histories []model.History
	for user := range Users {
		items := choose(rng, user)
		var h model.History
		for _, i := range items {
			h = append(h, model.Event{Item: int32(i), Weight: 1, Time: 1})
		}
		slices.Sort(items)
		for _, i := range items {
			inc.Item = append(inc.Item, int32(i))
		}
		inc.Ptr = append(inc.Ptr, int64(len(inc.Item)))
		histories = append(histories, h)
	}
	basis, err := spectral.Solve(inc, spectral.Options{
		Graph: spectral.Graph{Kind: spectral.Hypergraph, DegreeExponent: 1}, Rank: Rank,
		Seed: seed})
	check.Must(t, err)
	ids := make([]string, Items)
	for i := range ids {
		ids[i] = id(i)
	}
	spec := model.DefaultSpec()
	spec.Alpha, spec.TrainUsers = 0.9, Users
	edit(&spec)
	m, err := model.New(spec, basis, ids,
		fit.Histories{Train: slices.Values(histories), Validation: histories})
	check.Must(t, err)
	return m
}

// Item is the id of item i.
func Item(i int) string { return fmt.Sprintf("item-%02d", i) }

// A Store is a store with replaceable parts; a nil function replaces nothing.
type Store struct {
	store.Store
	AppendFunc func(ctx context.Context, records []store.Record) ([]store.Result, error)
	SinceFunc  func(ctx context.Context, user string, known store.Version,
		fn func(store.Version, store.Event) error) (store.Version, bool, error)
	EraseFunc func(ctx context.Context, user string) (uint64, error)
	EachFunc  func(ctx context.Context, fn func(user string, head store.Version) error) error
	// RewriteFunc is called before the Rewrite of the store, which an error prevents.
	RewriteFunc func(ctx context.Context) error
}

// Rewrite implements store.Store.
func (h *Store) Rewrite(
	ctx context.Context, users []string, fn func([][]store.Event) [][]store.Event,
) ([]store.Version, error) {
	if h.RewriteFunc != nil {
		if err := h.RewriteFunc(ctx); err != nil {
			return nil, err
		}
	}
	return h.Store.Rewrite(ctx, users, fn)
}

// Each implements store.Store.
func (h *Store) Each(
	ctx context.Context, shard, of int, fn func(user string, head store.Version) error,
) error {
	if h.EachFunc != nil {
		return h.EachFunc(ctx, fn)
	}
	return h.Store.Each(ctx, shard, of, fn)
}

// Erase implements store.Store.
func (h *Store) Erase(ctx context.Context, user string) (uint64, error) {
	if h.EraseFunc != nil {
		return h.EraseFunc(ctx, user)
	}
	return h.Store.Erase(ctx, user)
}

// Append implements store.Store.
func (h *Store) Append(ctx context.Context, records []store.Record) ([]store.Result, error) {
	if h.AppendFunc != nil {
		return h.AppendFunc(ctx, records)
	}
	return h.Store.Append(ctx, records)
}

// Since implements store.Store.
func (h *Store) Since(
	ctx context.Context, user string, known store.Version,
	fn func(store.Version, store.Event) error,
) (store.Version, bool, error) {
	if h.SinceFunc != nil {
		return h.SinceFunc(ctx, user, known, fn)
	}
	return h.Store.Since(ctx, user, known, fn)
}
