package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/gsimc/gsimc/model/content"
	"github.com/gsimc/gsimc/model/local"
)

// ContentNeighbours is the number of known items that a new item borrows from, at most.
const ContentNeighbours = 10

// Constants of borrowed rows, chosen on hidden items and validation users of three data sets.
const (
	borrowedScale  = 1.1 // κ
	borrowedDegree = 0.8 // η: power of the item's number of users in units of a neighbour's
	borrowedDoubt  = 20  // c: the squared number of histories worth as much in the local term
)

// leastLike is the part of a local term that is too small for the item to be like those it borrowed
// from.
const leastLike = 0.05

// Near returns the items of the base that the item borrowed its row from, see [Model.Like].
func (item *NewItem) Near() []int32 { return item.near }

// parts returns the part of each neighbour in a borrowed row, ω ∝ cos², Σω = 1.
func parts(near []content.Neighbour) []local.Share {
	sum := 0.0
	for _, x := range near {
		sum += float64(x.Similarity * x.Similarity)
	}
	all := make([]local.Share, len(near))
	for at, x := range near {
		all[at] = local.Share{Item: x.Item, Part: x.Similarity * x.Similarity / sum}
	}
	return all
}

// DegreeNear returns the number of training users that a new item is expected to have by its
// neighbours alone: the geometric mean of theirs. It is 0 without neighbours.
func (m *Model) DegreeNear(near []content.Neighbour) float64 {
	if len(near) == 0 {
		return 0
	}
	log := 0.0
	for _, x := range parts(near) {
		log += float64(x.Part * math.Log(float64(max(m.Degree(x.Item), 1))))
	}
	return math.Exp(log)
}

// Borrow returns a new item of which no history is known, placed by its neighbours alone:
//
//	v = κ Σ_j ω_j (D̂/d_j)^η v_j,    T_{·new} = κ Σ_j ω_j T_{·j},    T_{new·} = κ Σ_j ω_j T_{j·}
//
// with ω ∝ the squares of the similarities, Σω = 1. users is D̂, the number of users of the item at
// the scale of the training, as for [Evidence.Place]; 0: DegreeNear. Neighbours are items of the
// base. It is an error if there are none.
//
// O(k + entries of the rows and columns of the neighbours in the local term). The first call for a
// base finds the columns, which take as much memory as the rows from then on. It is safe for
// concurrent use.
func (m *Model) Borrow(id string, users float64, near []content.Neighbour) (NewItem, error) {
	m, near = m.Base(), near[:min(len(near), ContentNeighbours)]
	if users <= 0 {
		users = m.DegreeNear(near)
	}
	if len(near) == 0 || !(users > 0 && users < math.MaxInt64) {
		return NewItem{}, fmt.Errorf("new item %q has %d neighbours and %v users, "+
			"want some of both", id, len(near), users)
	}
	out := NewItem{ID: id, Users: int64(max(1, math.Round(users)))}
	degree := min(out.Users, m.spec.TrainUsers)
	of := parts(near)
	for _, x := range of {
		out.near = append(out.near, x.Item)
		out.graphScale += float64(x.Part * m.graphScale[x.Item])
	}
	if m.local != nil {
		out.local = m.local.Borrow(id, &m.spec.Local, degree, borrowedScale, of)
	}
	_, decoder := Rescale(degree, m.spec.DegreeRescale)
	row := m.borrowedRow(users, of)
	for l := range row {
		row[l] /= float64(decoder)
	}
	if slices.ContainsFunc(row, infinite) || !out.scaled(m, degree, row) {
		return NewItem{}, fmt.Errorf("new item %q has a row or predictions that are not finite", id)
	}
	return out, nil
}

// borrowedRow returns a borrowed decoder row.
func (m *Model) borrowedRow(users float64, of []local.Share) []float64 {
	sum := make([]float64, m.k)
	for _, x := range of {
		u, g := m.decoder(x.Item)
		scale := borrowedScale * x.Part * float64(g) *
			math.Pow(users/float64(max(m.Degree(x.Item), 1)), borrowedDegree)
		for l, y := range u {
			sum[l] += float64(scale * float64(y))
		}
	}
	return sum
}

// PlaceNear is [Evidence.Place] with content. What [Model.Borrow] gives is the prior of the row, by
// coordinates, as package nystrom says, and the local term is
//
//	(c borrowed + m² evidence)/(c + m²)
//
// with m the histories of the item that were added. The square is that of trend.Degrees.Expected:
// what a few users have in common may be chance.
// Without neighbours it is Place, and without histories Borrow.
func (e *Evidence) PlaceNear(i int, users float64, near []content.Neighbour) (NewItem, error) {
	histories := e.rows.Users(i)
	if len(near) == 0 {
		return e.Place(i, users)
	}
	borrowed, err := e.m.Borrow(e.ids[i], users, near)
	if err != nil || histories == 0 {
		return borrowed, err
	}
	out, err := e.place(i, users, borrowed.row)
	if err != nil {
		return NewItem{}, err
	}
	part := borrowedDoubt / (borrowedDoubt + float64(histories)*float64(histories))
	if part > leastLike {
		out.near = borrowed.near
	}
	if e.local != nil {
		out.local = out.local.Mix(&borrowed.local, part, &e.m.spec.Local)
	}
	return out, nil
}

// Like returns the known items that item i borrowed its row from, most similar first; nil for an
// item that borrowed none. Not to be changed.
func (m *Model) Like(i int32) []int32 {
	m.checkItem(i)
	if m.InBase(i) {
		return nil
	}
	return m.extension.near[int(i)-m.n]
}
