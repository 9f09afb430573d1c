package model

import (
	"slices"
	"sync"

	"github.com/gsimc/gsimc/internal/file/safetensors"
	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/model/internal/sealed"
	"github.com/gsimc/gsimc/model/local"
)

// The positions of validation users on which the local term is chosen.
const (
	wantedPositions = 6000 // in all, about
	userPositions   = 5    // last events of a user, at most: older ones say less of what is served
)

// learnLocal counts the local graph from the training users and chooses its constants on the
// validation users. m is finished but for the local term.
func (m *Model) learnLocal(h *fit.Histories) {
	if m.spec.Local.Neighbours == 0 {
		return
	}
	tell := h.Stage(fit.StageLocal)
	if tell != nil {
		tell(0, 0)
	}
	if h.KeepLocal {
		if !m.spec.Local.None() {
			m.local = h.Successions(m.degrees, m.spec.Local.Neighbours).Graph(&m.spec.Local)
		}
		return
	}
	counts := h.Successions(m.degrees, m.spec.Local.Neighbours)
	positions := m.positions(counts, h.Validation)
	choice := local.Choose(counts, positions, m.spec.Local, tell)
	m.spec.Local = choice.Spec
	if !m.spec.Local.None() {
		m.local = counts.Graph(&m.spec.Local)
	}
}

// positions ranks all items before the last events of the validation users, by the model without a
// local term.
func (m *Model) positions(counts *local.Successions, histories []History) []local.Position {
	chosen, each := fit.SampleOf(histories, wantedPositions, userPositions)
	found := make([][]local.Position, len(chosen))
	parallel.TasksWith(len(chosen), func() func(u int) {
		w := &positionFinder{m: m, counts: counts, query: m.NewQuery(), seen: ranking.NewSet(m.n)}
		return func(u int) { found[u] = w.find(chosen[u], each) }
	})
	return slices.Concat(found...)
}

// positionFinder is the memory of one worker of positions.
type positionFinder struct {
	m      *Model
	counts *local.Successions
	query  *Query
	seen   *ranking.Set
	near   []int32
}

// find returns the positions of the last events of h that come after another one.
func (w *positionFinder) find(h History, events int) (found []local.Position) {
	m, spec := w.m, &w.m.spec.Local
	s := m.NewState()
	w.seen.Clear()
	for at, e := range h {
		if local.IsTarget(h, at, events, w.seen) {
			found = append(found, w.position(s, local.Newest(nil, h[:at], spec.Events), e.Item))
		}
		m.Fold(s, e)
		w.seen.Add(e.Item)
	}
	return found
}

// position is the position after state s and its newest events, whose next event is on the target.
func (w *positionFinder) position(
	s *kalman.State, recent []kalman.Recent, target int32,
) local.Position {
	m := w.m
	m.transition.queryTo(w.query.Spectrum, s, EstimatorBGS)
	q := w.query.Spectrum
	p := local.Position{
		Recent: recent,
		Target: ranking.Scored{Item: target, Score: m.smoothScore(target, q)},
		Top:    m.TopN(nil, w.query, local.TopLength, w.seen),
	}
	w.near = w.counts.Near(w.near[:0], recent)
	for _, i := range w.near {
		if !w.seen.Has(i) {
			p.Near = append(p.Near, ranking.Scored{Item: i, Score: m.smoothScore(i, q)})
		}
	}
	return p
}

// extendLocal extends the local term by the items of the extension.
func (m *Model) extendLocal(items []NewItem) {
	if m.local == nil {
		return
	}
	arrivals := make([]local.Arrival, len(items))
	for i := range items {
		arrivals[i] = items[i].local
	}
	m.local = m.local.Extend(&m.spec.Local, arrivals)
	m.extension.local = m.local.More()
	m.setLocalSums()
}

// setLocalSums makes room for the local terms of queries.
func (m *Model) setLocalSums() {
	n := m.NumItems()
	m.localSums = &sync.Pool{New: func() any { return local.NewSum(n) }}
}

// localTensors lists the arrays of the local term in the file.
func (m *Model) localTensors() []sealed.Tensor {
	if m.local == nil {
		return nil
	}
	t := int64(len(m.local.Item))
	return []sealed.Tensor{
		sealed.Numbers("local_offsets", m.local.Ptr, int64(m.n)+1),
		sealed.Numbers("local_items", m.local.Item, t),
		sealed.Numbers("local_values", m.local.Value, t),
	}
}

// readLocal reads the local term, if there is one.
func (m *Model) readLocal(r *safetensors.Reader) {
	if m.spec.Local.None() {
		return
	}
	ptr := safetensors.Array[int64](r, "local_offsets", int64(m.n)+1)
	item := safetensors.Array[int32](r, "local_items", -1)
	value := safetensors.Array[float32](r, "local_values", -1)
	if r.Err == nil {
		m.local, r.Err = local.NewGraph(&m.spec.Local, ptr, item, value)
	}
}
