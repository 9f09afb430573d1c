package model

import (
	"sync"

	"github.com/gsimc/gsimc/internal/file/safetensors"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/model/internal/sealed"
	"github.com/gsimc/gsimc/model/local"
)

// learnLocal learns the local term. m is finished but for it.
func (m *Model) learnLocal(h *fit.Histories) {
	if m.spec.Local.Neighbours > 0 {
		m.spec.Local, m.local = h.Local(m.degrees, m.spec.Local, m.newWalker)
	}
}

// walker follows users by a model to which something is still to be added.
type walker struct {
	m     *Model
	state *kalman.State
}

func (m *Model) newWalker() fit.Walker         { return &walker{m: m} }
func (w *walker) Begin()                       { w.state = w.m.NewState() }
func (w *walker) Fold(e Event)                 { w.m.Fold(w.state, e) }
func (w *walker) Rank(batch []ranking.Request) { w.m.TopNBatch(batch) }

func (w *walker) Query() (spectrum []float32, boosts []ranking.Boost) {
	q := w.m.NewQuery()
	w.m.QueryTo(q, w.state, EstimatorBGS)
	return q.Spectrum, q.Boosts
}

func (w *walker) Score(p *local.Position, spectrum []float32) {
	p.Target.Score = w.m.smoothScore(p.Target.Item, spectrum)
	for at := range p.Near {
		p.Near[at].Score = w.m.smoothScore(p.Near[at].Item, spectrum)
	}
}

// LocalGraph returns the graph of the local term, nil for none. It is valid until Close.
func (m *Model) LocalGraph() *local.Graph { return m.local }

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
