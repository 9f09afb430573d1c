package tune

import (
	"github.com/gsimc/gsimc/evaluate"
	"github.com/gsimc/gsimc/internal/gemm"
	"github.com/gsimc/gsimc/internal/parallel"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/ranking"
)

// Bounds of the measurement.
const (
	wantedPositions = 6000 // events to rank, about
	maxPerUser      = 10   // last events of a user at most: older ones say less of what is served
	cutoff          = 10   // N of NDCG@N and HR@N
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
	positions []position // by user, then time
}

// newPanel takes the last events of each user, about wantedPositions in all. Of many users it takes
// evenly spaced ones.
func newPanel(histories []kalman.History) *panel {
	p := &panel{histories: histories}
	step := max(1, (len(histories)+wantedPositions-1)/wantedPositions)
	perUser := min(max(wantedPositions*step/max(len(histories), 1), 1), maxPerUser)
	for u := 0; u < len(histories); u += step {
		for at := max(1, len(histories[u])-perUser); at < len(histories[u]); at++ {
			p.positions = append(p.positions, position{u, at})
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

// rank returns the place of each position's item among those that its user had not seen, for
// queries (a row of k each) and decoder rows v (n×k). Ties go to the smaller index.
func (p *panel) rank(queries []float32, v gemm.Matrix[float32]) []int32 {
	n, k := v.Rows, v.Cols
	ranks := make([]int32, len(p.positions))
	scores := make([]float32, scoreBlock*n)
	for lo := 0; lo < len(ranks); lo += scoreBlock {
		hi := min(lo+scoreBlock, len(ranks))
		block := scores[:(hi-lo)*n]
		clear(block)
		gemm.MulAdd(matrix(block, n), 1, gemm.Plain, matrix(queries[lo*k:hi*k], k), gemm.Transposed,
			v)
		parallel.Tasks(hi-lo, func(i int) {
			ranks[lo+i] = p.rankOne(p.positions[lo+i], block[i*n:(i+1)*n])
		})
	}
	return ranks
}

func (p *panel) rankOne(at position, scores []float32) int32 {
	h := p.histories[at.user]
	seen := ranking.NewSet(len(scores))
	for _, e := range h[:at.at] {
		seen.Add(e.Item)
	}
	return int32(ranking.Of(scores, h[at.at].Item, seen))
}

// score sums ranks up.
func score(c Candidate, ranks []int32) Trial {
	m := evaluate.MetricAt(cutoff, ranks)
	return Trial{Candidate: c, HR: m.HR, NDCG: m.NDCG, NDCGErr: m.NDCGErr}
}

func matrix(data []float32, cols int) gemm.Matrix[float32] {
	return gemm.Matrix[float32]{Rows: len(data) / cols, Cols: cols, Stride: cols, Data: data}
}
