package fit

import (
	"slices"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/kalman/dynamics"
	"github.com/gsimc/gsimc/model/local"
)

// The positions of validation users on which the rank and the ridge are chosen.
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
	users, each := SampleOf(validation, samplePositions(x.N), sampleUserPositions)
	found := make([]*sampleUser, len(users))
	parallel.TasksWith(len(users), func() func(u int) {
		w := newSampler(x, spec, counts, e)
		return func(u int) { found[u] = w.user(users[u], each) }
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

// ChoicePositions returns the number of positions on which [Learn] chooses the rank and the ridge of
// a catalogue, at most, given the validation users.
func ChoicePositions(validation []kalman.History, items int) (positions int) {
	users, each := SampleOf(validation, samplePositions(items), sampleUserPositions)
	for _, h := range users {
		positions += min(max(len(h)-1, 0), each)
	}
	return positions
}

// SampleOf returns evenly spaced histories, and the number of last events of each, up to most, that
// have the wanted number of positions or fewer.
func SampleOf(histories []kalman.History, wanted, most int) (chosen []kalman.History, each int) {
	users := min(len(histories), wanted)
	chosen = make([]kalman.History, users)
	for u := range chosen {
		chosen[u] = histories[u*len(histories)/users]
	}
	return chosen, min(wanted/max(users, 1), most)
}

// sampleUser is the part of a sample from one user.
type sampleUser struct {
	positions []local.Position
	past      []kalman.History
	states    []float32
}

// sampler is the memory of one worker of newSample.
type sampler struct {
	x      *Items
	events int                // of the local term
	counts *local.Successions // nil without a local term
	e      []float32
	bands  kalman.Dynamics // that hold the states themselves
	rows   []float32       // r·k: r times the encoder row of an event
	seen   *ranking.Set
	near   []int32
}

func newSampler(x *Items, spec *Spec, counts *local.Successions, e []float32) *sampler {
	w := &sampler{
		x: x, events: spec.Local.Events, counts: counts, e: e, seen: ranking.NewSet(x.N),
	}
	w.bands = kalman.Dynamics{Bands: spec.Bands, Mean: make([]float32, x.K)}
	w.rows = make([]float32, len(w.bands.Bands)*x.K)
	return w
}

// user returns the positions of the last events of h whose items are new to the user.
func (w *sampler) user(h kalman.History, events int) *sampleUser {
	k, out, s := w.x.K, &sampleUser{}, w.bands.NewState()
	w.seen.Clear()
	for at, event := range h {
		if local.IsTarget(h, at, events, w.seen) {
			out.positions = append(out.positions, w.position(h[:at], event.Item))
			out.past = append(out.past, h[:at])
			out.states = append(out.states, s.X...)
		}
		row := row(w.e, int(event.Item), k)
		for b := range w.bands.Bands {
			copy(w.rows[b*k:], row)
		}
		w.bands.Update(s, w.rows, row, 1, event.Weight, event.Time)
		w.seen.Add(event.Item)
	}
	return out
}

// position is the position after a history, without scores.
func (w *sampler) position(past kalman.History, target int32) local.Position {
	p := local.Position{
		Target: ranking.Scored{Item: target}, Top: make([]ranking.Scored, 0, local.TopLength),
	}
	if w.counts == nil {
		return p
	}
	p.Recent = local.Newest(nil, past, w.events)
	w.near = w.counts.Near(w.near[:0], p.Recent)
	for _, i := range w.near {
		if !w.seen.Has(i) {
			p.Near = append(p.Near, ranking.Scored{Item: i})
		}
	}
	return p
}

// block is the number of positions whose scores are held at a time.
func (s *sample) block() int { return min(max(sampleScores/s.x.N, 1), len(s.positions)) }

// rank stores the scores of the positions by a read-out. Its rank may be below that of the basis.
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
		parallel.TasksWith(part.Rows, func() func(int) {
			w := &ranker{x: s.x, seen: ranking.NewSet(n)}
			return func(i int) {
				w.rank(&s.positions[first+i], s.past[first+i], row(s.scores, i, n))
			}
		})
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

// ranker is the memory of one worker of rank.
type ranker struct {
	x    *Items
	seen *ranking.Set
	top  ranking.TopN
}

// rank stores the scores of a position. products are u_i·q of all items, and are overwritten.
func (w *ranker) rank(p *local.Position, past kalman.History, products []float32) {
	for i, scale := range w.x.DecoderScale {
		products[i] *= scale
	}
	for _, e := range past {
		w.seen.Add(e.Item)
	}
	w.top.Reset(p.Top, local.TopLength)
	w.top.Offer(0, products, w.seen)
	p.Top = w.top.Sorted()
	p.Target.Score = products[p.Target.Item]
	for at := range p.Near {
		p.Near[at].Score = products[p.Near[at].Item]
	}
	for _, e := range past {
		w.seen.Remove(e.Item)
	}
}
