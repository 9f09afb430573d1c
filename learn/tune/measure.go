package tune

import (
	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model/local"
)

// Bounds of the measurement.
const (
	wantedPositions = 6000 // events to rank, about
	maxPerUser      = 10   // last events of a user at most: older ones say less of what is served
	scoreBlock      = 256  // positions that share a product with all decoder rows
)

// position is an event to be ranked: event at of a validation user, whose events before it are
// known.
type position struct {
	user, at int
}

// panel holds the positions of the validation users.
type panel struct {
	histories []kalman.History
	positions []position       // by user, then time
	ranked    []local.Position // of the positions; Top and the scores are those of the last rank

	// The value of rankings with a local term and without one. Filters of the paper have none.
	with, without *local.Weigher
}

// newPanel takes the last events of each user, about wantedPositions in all. Of many users it takes
// evenly spaced ones. counts are those of the training users, over n items.
func newPanel(histories []kalman.History, n int, counts *local.Successions) *panel {
	spec := train.Recommended().Local
	p := &panel{
		histories: histories,
		with:      local.NewWeigher(n, counts, spec), without: local.NewWeigher(n, nil, spec),
	}
	step := max(1, (len(histories)+wantedPositions-1)/wantedPositions)
	perUser := min(max(wantedPositions*step/max(len(histories), 1), 1), maxPerUser)
	f := local.NewFinder(n, counts, spec.Events)
	for u := 0; u < len(histories); u += step {
		h := histories[u]
		for at := max(1, len(h)-perUser); at < len(h); at++ {
			p.positions = append(p.positions, position{u, at})
			f.Seen = seenIn(h[:at], n)
			p.ranked = append(p.ranked, f.Position(h[:at], h[at].Item))
		}
	}
	return p
}

// states returns the states before every position, a row of r·k numbers each: the bands of encoder
// rows e (n×k).
func (p *panel) states(bands []kalman.Band, e []float32, k int) []float32 {
	width := len(bands) * k
	all := make([]float32, len(p.positions)*width)
	p.forEachUser(func(lo, hi int) {
		h := p.histories[p.positions[lo].user]
		x := make([]float32, width)
		newest := h[0].Time
		for t, next := 0, lo; next < hi; t++ {
			if p.positions[next].at == t {
				copy(all[next*width:], x)
				next++
			}
			row := e[int(h[t].Item)*k : (int(h[t].Item)+1)*k]
			for b, band := range bands {
				a := float32(band.Decay(h[t].Time - newest))
				for j, v := range row {
					x[b*k+j] = a*x[b*k+j] + h[t].Weight*v
				}
			}
			newest = max(newest, h[t].Time)
		}
	})
	return all
}

// forEachUser calls do with the range of positions of each user, on all processors.
func (p *panel) forEachUser(do func(lo, hi int)) {
	var starts []int
	for i := range p.positions {
		if i == 0 || p.positions[i].user != p.positions[i-1].user {
			starts = append(starts, i)
		}
	}
	starts = append(starts, len(p.positions))
	parallel.Tasks(len(starts)-1, func(i int) { do(starts[i], starts[i+1]) })
}

// rank returns the gain of each position's item among those that its user had not seen, for queries
// (a row of k each) and decoder rows v (n×k), with a local term of the best weight if learned.
func (p *panel) rank(queries []float32, v gemm.Matrix[float32], learned bool) local.Gains {
	n, k := v.Rows, v.Cols
	scores := make([]float32, scoreBlock*n)
	for lo := 0; lo < len(p.positions); lo += scoreBlock {
		hi := min(lo+scoreBlock, len(p.positions))
		block := scores[:(hi-lo)*n]
		clear(block)
		gemm.MulAdd(matrix(block, n), 1, gemm.Plain, matrix(queries[lo*k:hi*k], k), gemm.Transposed,
			v)
		parallel.Tasks(hi-lo, func(i int) { p.rankOne(lo+i, block[i*n:(i+1)*n]) })
	}
	if learned {
		return p.with.Gains(p.ranked)
	}
	return p.without.Gains(p.ranked)
}

// rankOne stores the scores of one position.
func (p *panel) rankOne(i int, scores []float32) {
	at := p.positions[i]
	seen := seenIn(p.histories[at.user][:at.at], len(scores))
	p.ranked[i].Rank(scores, seen, new(ranking.TopN))
}

// seenIn returns the items of a history, of n items.
func seenIn(h kalman.History, n int) *ranking.Set {
	seen := ranking.NewSet(n)
	for _, e := range h {
		seen.Add(e.Item)
	}
	return seen
}

// score sums gains up.
func score(c Candidate, gains local.Gains) Trial {
	t := Trial{Candidate: c}
	t.NDCG, t.HR, t.NDCGErr = gains.Short()
	return t
}

func matrix(data []float32, cols int) gemm.Matrix[float32] {
	return gemm.Matrix[float32]{Rows: len(data) / cols, Cols: cols, Stride: cols, Data: data}
}
