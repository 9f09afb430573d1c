package dynamics

import (
	"github.com/gsimc/gsimc/internal/num/prefetch"
	"github.com/gsimc/gsimc/kalman"
)

// How many coordinates are walked together: more share the way to a row that is not in a cache.
// Where the numbers of all events are kept, a strip is one cache line of float32.
const (
	walkedTogether   = 64
	stripCoordinates = 16
)

// rowsAhead is the number of events between the first one whose rows are on the way and the one
// that is folded. Each row of a strip is a line or a few, in a table that no cache holds.
const rowsAhead = 8

// A walker folds histories in the coordinates [lo, hi) alone. No coordinate of learned dynamics
// touches another, so these are the numbers that a fold of all k has there, and a worker needs
// memory for its strip only.
type walker struct {
	d       *kalman.Dynamics // restricted to the strip
	state   *kalman.State
	lo, hi  int
	k       int // of the whole
	rows    Rows
	encoder Encoder
	row     []float32 // r·(hi−lo)
}

func newWalker(d *kalman.Dynamics, lo, hi int, rows Rows, encoder Encoder) *walker {
	part := &kalman.Dynamics{Bands: d.Bands, Mean: d.Mean[lo:hi], Drift: d.Drift}
	if d.HasDeviation() {
		part.P0, part.SigmaEta, part.SigmaNu = d.P0[lo:hi], d.SigmaEta[lo:hi], d.SigmaNu[lo:hi]
	}
	if d.SigmaTheta != nil {
		part.SigmaTheta, part.ThetaFloor = d.SigmaTheta[lo:hi], d.ThetaFloor
	}
	return &walker{
		d: part, lo: lo, hi: hi, k: len(d.Mean), rows: rows,
		encoder: encoder, row: make([]float32, len(d.Bands)*(hi-lo)),
	}
}

// walk folds h from nothing and calls before with each event and its encoder row g·u when w.state
// is still without it.
func (w *walker) walk(h kalman.History, before func(e kalman.Event, u []float32, g float32)) {
	w.state = w.d.NewState()
	width := w.hi - w.lo
	rows := prefetch.Stage{Distance: rowsAhead, Begin: func(at int) { w.fetch(h[at].Item) }}
	for at := range prefetch.Ahead(len(h), rows) {
		e := h[at]
		u, g := w.encoder(e.Item)
		u = u[w.lo:w.hi]
		before(e, u, g)
		all := w.rows(e.Item)
		for b := range w.d.Bands {
			copy(w.row[b*width:(b+1)*width], all[b*w.k+w.lo:b*w.k+w.hi])
		}
		w.d.Update(w.state, w.row, u, g, e.Weight, e.Time)
	}
}

// fetch begins to load the numbers of an item.
func (w *walker) fetch(item int32) {
	u, _ := w.encoder(item)
	prefetch.Slice(u[w.lo:w.hi])
	all := w.rows(item)
	for b := range w.d.Bands {
		prefetch.Slice(all[b*w.k+w.lo : b*w.k+w.hi])
	}
}
