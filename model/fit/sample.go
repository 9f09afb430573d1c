package fit

import (
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/kalman/dynamics"
	"github.com/gsimc/gsimc/model/local"
)

// The positions of validation users on which the rank, the ridge and the bands are chosen.
const (
	mostPositions       = 5000 // in all
	leastPositions      = 1000 // in all, for any number of items
	sampleWork          = 5e7  // positions times items, which the time is in proportion to
	sampleUserPositions = 10   // last events of a user, at most
)

// sampleScores is the number of scores that are held at a time.
const sampleScores = 1 << 22

// sample is a set of positions, ranked anew for each read-out.
type sample struct {
	x         *Items
	positions []local.Position // Top and the scores are those of the last read-out
	past      []kalman.History // of each position, the events before it
	states    gemm.Matrix[float32]
	queries   []float32 // positions×k of the last read-out, at its begin
	scores    []float32 // of a block of positions
}

// newSample folds the histories of validation users into the states x_b before their last events:
// row p of states has the r·k numbers of position p. e holds the encoder rows, n×k.
func newSample(
	x *Items, spec *Spec, counts *local.Successions, validation []kalman.History, e []float32,
) *sample {
	users, last := sampleOf(validation, samplePositions(x.N), sampleUserPositions)
	found := make([]*sampleUser, len(users))
	parallel.TasksWith(len(users), func() func(u int) {
		w := newSampler(x, spec, counts, e)
		return func(u int) { found[u] = w.user(users[u], last) }
	})
	s := &sample{x: x}
	var states [][]float32
	for _, u := range found {
		s.positions = append(s.positions, u.positions...)
		s.past = append(s.past, u.past...)
		states = append(states, u.states)
	}
	width := len(spec.Bands) * x.K
	s.states = gemm.Matrix[float32]{
		Rows: len(s.positions), Cols: width, Stride: width, Data: slices.Concat(states...),
	}
	s.queries = make([]float32, len(s.positions)*x.K)
	s.scores = make([]float32, x.N*s.block())
	return s
}

// samplePositions is the number of positions for a catalogue of items, at most.
func samplePositions(items int) int {
	return min(max(sampleWork/items, leastPositions), mostPositions)
}

// ChoicePositions returns the number of positions on which [Learn] chooses its constants, at
// most, for a catalogue of items and the validation users.
func ChoicePositions(validation []kalman.History, items int) (positions int) {
	users, last := sampleOf(validation, samplePositions(items), sampleUserPositions)
	for _, h := range users {
		positions += min(max(len(h)-1, 0), last)
	}
	return positions
}

// sampleUser is the part of a sample from one user.
type sampleUser struct {
	positions []local.Position
	past      []kalman.History
	states    []float32
}

// sampler is the memory of one worker of newSample.
type sampler struct {
	*local.Finder
	k     int
	e     []float32
	bands kalman.Dynamics // that hold the states themselves
	rows  []float32       // r·k: r times the encoder row of an event
}

func newSampler(x *Items, spec *Spec, counts *local.Successions, e []float32) *sampler {
	return &sampler{
		Finder: local.NewFinder(x.N, counts, spec.Local.Events), k: x.K, e: e,
		bands: kalman.Dynamics{Bands: spec.Bands, Mean: make([]float32, x.K)},
		rows:  make([]float32, len(spec.Bands)*x.K),
	}
}

// user returns the positions of the last events of h whose items are new to the user.
func (w *sampler) user(h kalman.History, last int) *sampleUser {
	out, s := &sampleUser{}, w.bands.NewState()
	w.Walk(h, last, func(at int, p local.Position) {
		out.positions = append(out.positions, p)
		out.past = append(out.past, h[:at])
		out.states = append(out.states, s.X...)
	}, func(e kalman.Event) {
		row := row(w.e, int(e.Item), w.k)
		for b := range w.bands.Bands {
			copy(w.rows[b*w.k:], row)
		}
		w.bands.Update(s, w.rows, row, 1, e.Weight, e.Time)
	})
	return out
}

// block is the number of positions whose scores are held at a time.
func (s *sample) block() int { return min(max(sampleScores/s.x.N, 1), len(s.positions)) }

// rank stores the scores of the positions by a read-out. It may be of fewer bands and coordinates.
func (s *sample) rank(r *dynamics.Readout) {
	n, k := s.x.N, r.K
	queries := s.queriesOf(r)
	items := gemm.Matrix[float32]{Rows: n, Cols: k, Stride: s.x.K, Data: s.x.Basis}
	step := max(s.block(), 1)
	for first := 0; first < len(s.positions); first += step {
		part := queries
		part.Rows, part.Data = min(step, queries.Rows-first), queries.Data[first*k:]
		scores := gemm.Matrix[float32]{Rows: part.Rows, Cols: n, Stride: n, Data: s.scores}
		clear(s.scores[:part.Rows*n])
		gemm.MulAdd(scores, 1, gemm.Plain, part, gemm.Transposed, items)
		parallel.Tasks(part.Rows, func(i int) { s.rankOne(first+i, row(s.scores, i, n)) })
	}
}

// queriesOf returns the queries μ + Σ_b W_b x_b, positions×k.
func (s *sample) queriesOf(r *dynamics.Readout) gemm.Matrix[float32] {
	k, w, mean := r.K, gemm.ToFloat32(r.W), gemm.ToFloat32(r.Mean)
	q := gemm.Matrix[float32]{
		Rows: len(s.positions), Cols: k, Stride: k, Data: s.queries[:len(s.positions)*k],
	}
	for p := range q.Rows {
		copy(row(q.Data, p, k), mean)
	}
	for b := range r.R {
		states := s.states
		states.Cols, states.Data = k, states.Data[b*s.x.K:]
		readout := gemm.Matrix[float32]{Rows: k, Cols: k, Stride: k, Data: w[b*k*k : (b+1)*k*k]}
		gemm.MulAdd(q, 1, gemm.Plain, states, gemm.Transposed, readout)
	}
	return q
}

// rankOne stores the scores of a position. products are u_i·q of all items, and are overwritten.
func (s *sample) rankOne(at int, products []float32) {
	for i, scale := range s.x.DecoderScale {
		products[i] *= scale
	}
	for _, e := range s.past[at] {
		products[e.Item] = float32(math.Inf(-1))
	}
	s.positions[at].Rank(products)
}
