package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/file/safetensors"
	"github.com/gsimc/gsimc/model/content"
	"github.com/gsimc/gsimc/model/internal/sealed"
	"github.com/gsimc/gsimc/model/local"
)

// ContentNeighbours is the number of known items that a new item borrows from, at most.
const ContentNeighbours = 10

// Constants of borrowed rows, chosen on validation users of three data sets.
var (
	borrowedScale  = 1.0 // κ: of the decoder row
	borrowedLocal  = 1.0 // of the local term
	borrowedUsers  = 2.0 // κ₀: users that the neighbours count as beside those of the item
	borrowedDegree = 0.3 // η: power of the item's number of users in units of a neighbour's
)

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
		log += x.Part * math.Log(float64(max(m.Degree(x.Item), 1)))
	}
	return math.Exp(log)
}

// Borrow returns a new item of which no history is known, placed by its neighbours alone:
//
//	v = κ Σ_j ω_j v_j (D̂/d_j)^η,    T_{·new} = κ Σ_j ω_j T_{·j},    T_{new·} = κ Σ_j ω_j T_{j·}
//
// with ω ∝ the squares of the similarities, Σω = 1. users is D̂, the number of users of the item at
// the scale of the training, as for [Evidence.Place]; 0: DegreeNear. Neighbours are items of the
// base. It is an error if there are none.
func (m *Model) Borrow(id string, users float64, near []content.Neighbour) (NewItem, error) {
	m = m.Base()
	if len(near) == 0 {
		return NewItem{}, fmt.Errorf("new item %q has neither users nor neighbours", id)
	}
	if users <= 0 {
		users = m.DegreeNear(near)
	}
	out := NewItem{ID: id, Users: int64(max(1, math.Round(users)))}
	degree := min(out.Users, m.spec.TrainUsers)
	of := parts(near)
	for _, x := range of {
		out.near = append(out.near, x.Item)
		out.graphScale += float64(x.Part * m.graphScale[x.Item])
	}
	if m.local != nil {
		out.local = m.local.Borrow(id, &m.spec.Local, degree, borrowedLocal, of)
	}
	_, decoder := Rescale(degree, m.spec.DegreeRescale)
	row := m.borrowedRow(users, of)
	for l := range row {
		row[l] /= float64(decoder)
	}
	if !out.scaled(m, degree, row) {
		return NewItem{}, fmt.Errorf("new item %q has predictions that are not finite", id)
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

// PlaceNear is [Evidence.Place] with content: the decoder row and the local term are
//
//	(κ₀ borrowed + m evidence)/(κ₀ + m)
//
// with m the histories of the item that were added, and the borrowed ones those of [Model.Borrow].
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
	out, err := e.Place(i, users)
	if err != nil {
		return NewItem{}, err
	}
	part := borrowedUsers / (borrowedUsers + float64(histories))
	mixed := make([]float64, e.m.k)
	for l := range mixed {
		mixed[l] = float64(part*float64(borrowed.row[l])) + float64((1-part)*float64(out.row[l]))
	}
	out.near = borrowed.near
	if e.local != nil {
		out.local = out.local.Mix(&borrowed.local, part, &e.m.spec.Local)
	}
	if !out.scaled(e.m, min(out.Users, e.m.spec.TrainUsers), mixed) {
		return NewItem{}, fmt.Errorf("new item %q has predictions that are not finite", out.ID)
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

// checkNear checks the neighbours of a new item.
func (m *Model) checkNear(near []int32) error {
	for at, j := range near {
		if j < 0 || int(j) >= m.n || slices.Contains(near[:at], j) {
			return fmt.Errorf("a new item is like %d, want different items from 0 to %d", j, m.n-1)
		}
	}
	if len(near) > ContentNeighbours {
		return fmt.Errorf("a new item is like %d items, want at most %d", len(near),
			ContentNeighbours)
	}
	return nil
}

// nearTensors lists the neighbours of new items, unless none has any: a document of an extension
// without content is what it was before there was content.
func nearTensors(items []NewItem) []sealed.Tensor {
	ptr, all := make([]int64, 1, len(items)+1), []int32{}
	for i := range items {
		all = append(all, items[i].near...)
		ptr = append(ptr, int64(len(all)))
	}
	if len(all) == 0 {
		return nil
	}
	return []sealed.Tensor{sealed.Numbers("near_offsets", ptr), sealed.Numbers("near_items", all)}
}

// readNear reads the neighbours of n new items.
func (m *Model) readNear(r *safetensors.Reader, n int64) [][]int32 {
	near := make([][]int32, n)
	if !r.Has("near_offsets") {
		return near
	}
	ptr := safetensors.Array[int64](r, "near_offsets", n+1)
	all := safetensors.Array[int32](r, "near_items", -1)
	if r.Err != nil {
		return nil
	}
	for i := range near {
		from, to := ptr[i], ptr[i+1]
		if from < 0 || from > to || to > int64(len(all)) {
			r.Err = fmt.Errorf("neighbours %d run from %d to %d, want 0 to %d", i, from, to, len(all))
			return nil
		}
		near[i] = all[from:to:to]
		if r.Err = m.checkNear(near[i]); r.Err != nil {
			return nil
		}
	}
	return near
}
