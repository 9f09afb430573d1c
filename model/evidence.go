package model

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/model/internal/nystrom"
	"github.com/gsimc/gsimc/model/internal/sealed"
	"github.com/gsimc/gsimc/model/local"
	"github.com/gsimc/gsimc/spectral"
)

// Evidence gathers histories with new items, items that a model does not know, in order to place
// the new items in the basis of the model. It is not safe for concurrent use. Package nystrom
// finds the rows.
type Evidence struct {
	m     *Model
	ids   []string          // of the items to be placed
	rows  *nystrom.Evidence // of them
	local *local.Arrivals   // all new items; nil if m has no local term
}

// MinNewUsers is the number of users that should have a new item before it gets a row. The history
// of a single user would make the item a neighbour of that user's items only.
const MinNewUsers = 2

// NewEvidence returns empty evidence for the new items with the given ids. In Add, new item i has
// the index m.Base().NumItems()+i. others are ids of new items that need no place, since they have
// one from other evidence; in Add, their indices follow. In the graph they count like items that
// are not known, and in the local term they are neighbours of the new items. A covariance graph of
// windows gives an error: it cannot be extended, because the model does not hold the number of
// windows of an item.
func (m *Model) NewEvidence(ids, others []string) (*Evidence, error) {
	m = m.Base()
	if m.spec.Graph == spectral.Covariance && m.spec.Window != 0 {
		return nil, errors.New("a covariance graph of windows cannot be extended by new items: " +
			"train with whole histories or with a hypergraph")
	}
	e := &Evidence{m: m, ids: ids, rows: nystrom.New(m.nystrom(), len(ids))}
	if m.local != nil {
		e.local = local.NewArrivals(&m.spec.Local, m.degrees, ids, others)
	}
	return e, nil
}

// nystrom is what new items are placed by.
func (m *Model) nystrom() *nystrom.Basis {
	return &nystrom.Basis{
		Graph:  spectral.Graph{Kind: m.spec.Graph, DegreeExponent: m.spec.DegreeExponent},
		Window: m.spec.Window, Users: m.spec.TrainUsers,
		K: m.k, Rows: m.basis, Scale: m.graphScale, Degrees: m.degrees, Kappa: m.kappa,
		Apply: m.rotation.apply, Back: m.rotation.back,
	}
}

// Add takes in a user's history: item indices in the order of time, each at most once. A negative
// index stands for any other item. O(length·k) for each window with a new item.
func (e *Evidence) Add(history []int32) {
	e.rows.Add(history)
	if e.local != nil {
		e.local.Add(history)
	}
}

// Place returns new item i with its row. users is the number of users of the item at the scale of
// the training, that is the expected number among NumTrainUsers users. It may differ from the
// number of added histories with the item; the histories then count as a sample.
//
// It is an error if no history with the item was added, if users is not above 0, or if the row is
// not finite.
func (e *Evidence) Place(i int, users float64) (NewItem, error) { return e.place(i, users, nil) }

// place is Place with the row that was expected before any history was seen; nil: none.
func (e *Evidence) place(i int, users float64, expected []float32) (NewItem, error) {
	histories, id := e.rows.Users(i), e.ids[i]
	if histories == 0 || !(users > 0 && users < math.MaxInt64) {
		return NewItem{}, fmt.Errorf("new item %q has %d histories and %v users, want some of both",
			id, histories, users)
	}
	out := NewItem{ID: id, Users: int64(max(1, math.Round(users)))}
	rotated, scale, part := e.rows.Row(i, users, expected)
	if out.graphScale = scale; slices.ContainsFunc(rotated, infinite) || infinite(scale) {
		return NewItem{}, fmt.Errorf("new item %q has a row that is not finite", id)
	}
	degree := min(out.Users, e.m.spec.TrainUsers)
	if e.local != nil {
		out.local = e.local.Place(i, degree, users/float64(histories), part)
	}
	if !out.scaled(e.m, degree, rotated) {
		return NewItem{}, fmt.Errorf("new item %q has predictions that are not finite", id)
	}
	return out, nil
}

// scaled sets what a table holds of an item with this degree and row. It reports whether the
// numbers are finite.
func (item *NewItem) scaled(m *Model, degree int64, rotated []float64) bool {
	item.row = gemm.ToFloat32(rotated)
	item.encoderScale, item.decoderScale = Rescale(degree, m.spec.DegreeRescale)
	alone := &table{basis: item.row, ids: []string{item.ID},
		encoderScale: []float32{item.encoderScale}}
	item.predictions = m.transition.predict(alone, [][]float64{rotated})
	return !slices.ContainsFunc(item.predictions, sealed.NotFinite)
}
