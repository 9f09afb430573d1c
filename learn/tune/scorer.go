package tune

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/gsimc/gsimc/learn/train"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/kalman/dynamics"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/local"
	"github.com/gsimc/gsimc/spectral"
)

// scorer measures candidates and keeps the parts that neighbouring ones share.
type scorer struct {
	part     *dataset.Partition
	r        *spectral.Incidence
	train    iter.Seq[kalman.History]
	panel    *panel
	maxRank  int
	seed     uint64
	progress func(stage string, done, total int)

	basis   *spectral.Basis
	graph   spectral.Graph // of the basis
	asked   int            // the rank that it was solved for; the graph may have fewer eigenvectors
	rescale float64        // t of the rows
	encoder []float32      // n×K, e_i
	decoder []float32      // n×K, v_i

	// One of each is kept, since they are large, and the next candidate has the same bands or new
	// ones.
	moments kept[*dynamics.Moments] // by bands and positions
	sums    kept[*dynamics.Normal]  // of this basis and rescaling, by bands and positions
	states  kept[[]float32]         // of the panel, likewise, by bands
}

func newScorer(
	part *dataset.Partition, maxRank int, seed uint64, progress func(stage string, done, total int),
) *scorer {
	if progress == nil {
		progress = func(string, int, int) {}
	}
	n, r := len(part.Items), train.Incidence(part)
	neighbours := train.Recommended().Local.Neighbours
	counts := local.Count(n, r.Degrees(), train.Each(&part.Train), neighbours)
	return &scorer{
		part: part, r: r, train: train.Each(&part.Train),
		panel:   newPanel(train.Histories(&part.Validation), n, counts),
		maxRank: maxRank, seed: seed, progress: progress,
	}
}

// kept is the value that was made last, with its key.
type kept[T any] struct {
	key   string
	value T
}

// get returns the value for a key, which must not be empty.
func (k *kept[T]) get(key string, newValue func() (T, error)) (T, error) {
	if k.key == key {
		return k.value, nil
	}
	*k = kept[T]{} // its memory can go now
	value, err := newValue()
	if err == nil {
		*k = kept[T]{key, value}
	}
	return value, err
}

// errRank tells that the matrix of the graph has a smaller rank than the candidate.
var errRank = errors.New("the graph has fewer eigenvectors")

// measure scores a candidate.
func (b *scorer) measure(c Candidate) (Trial, error) {
	if err := b.prepare(c); err != nil {
		return Trial{}, err
	}
	queries, err := b.queries(c)
	if err != nil {
		return Trial{}, err
	}
	return score(c, b.panel.rank(queries, b.rows(b.decoder, c.Rank), c.learned())), nil
}

// prepare makes basis and rows those of the candidate.
func (b *scorer) prepare(c Candidate) error {
	if b.basis == nil || b.graph != c.graph() || b.asked < c.Rank {
		b.asked = b.rankFor(c.Rank)
		basis, err := spectral.Solve(b.r, spectral.Options{
			Graph: c.graph(), Rank: b.asked, Seed: b.seed,
			Progress: func(done, total int) { b.progress("solving", done, total) },
		})
		if err != nil {
			return err
		}
		b.basis, b.graph, b.encoder = basis, c.graph(), nil
	}
	if b.encoder == nil || b.rescale != c.DegreeRescale {
		b.rescale, b.sums, b.states = c.DegreeRescale, kept[*dynamics.Normal]{}, kept[[]float32]{}
		b.encoder, b.decoder = scaledRows(b.basis, c.DegreeRescale)
	}
	if c.Rank > b.basis.K {
		return errRank
	}
	return nil
}

// rankFor returns the rank to solve for where k is wanted: the next one above k, which a climb
// tries soon. A much larger one would cost time for eigenvectors that are not used, and the last
// ones are the slowest to converge.
func (b *scorer) rankFor(k int) int {
	top := min(b.maxRank, len(b.part.Items))
	for _, r := range ranks {
		if r > k {
			return min(r, top)
		}
	}
	return max(k, top)
}

// scaledRows returns the encoder rows d^{−t/2} u and the decoder rows d^{t/2} u.
func scaledRows(basis *spectral.Basis, t float64) (encoder, decoder []float32) {
	encoder, decoder = make([]float32, len(basis.U)), make([]float32, len(basis.U))
	for i, d := range basis.Degrees {
		e, v := model.Rescale(d, t)
		for at := i * basis.K; at < (i+1)*basis.K; at++ {
			u := float32(basis.U[at])
			encoder[at], decoder[at] = u*e, u*v
		}
	}
	return encoder, decoder
}

// rows is the view of the first k columns.
func (b *scorer) rows(data []float32, k int) gemm.Matrix[float32] {
	return gemm.Matrix[float32]{Rows: b.basis.N, Cols: k, Stride: b.basis.K, Data: data}
}

// queries returns the query of every position of the panel, a row of c.Rank numbers each.
func (b *scorer) queries(c Candidate) ([]float32, error) {
	bands, err := c.bands()
	if err != nil {
		return nil, err
	}
	k, positions := c.Rank, len(b.panel.positions)
	states, err := b.panelStates(bands)
	if err != nil {
		return nil, err
	}
	queries := make([]float32, positions*k)
	if !c.learned() {
		h := b.response(c)
		for i := range positions {
			for j := range k {
				queries[i*k+j] = h[j] * states[i*b.basis.K+j]
			}
		}
		return queries, nil
	}
	readout, err := b.readout(c)
	if err != nil {
		return nil, err
	}
	for i := range queries {
		queries[i] = float32(readout.Mean[i%k])
	}
	for band := range readout.R {
		x := gemm.Matrix[float32]{
			Rows: positions, Cols: k, Stride: readout.R * b.basis.K, Data: states[band*b.basis.K:],
		}
		w := matrix(gemm.ToFloat32(readout.W[band*k*k:(band+1)*k*k]), k)
		gemm.MulAdd(matrix(queries, k), 1, gemm.Plain, x, gemm.Transposed, w)
	}
	return queries, nil
}

// panelStates returns the states before the panel's positions, in all columns of the basis.
func (b *scorer) panelStates(bands []kalman.Band) ([]float32, error) {
	return b.states.get(kalman.FormatBands(bands), func() ([]float32, error) {
		return b.panel.states(bands, b.encoder, b.basis.K), nil
	})
}

// response is H(λ) of the candidate's filter.
func (b *scorer) response(c Candidate) []float32 {
	filter := spectral.DefaultFilter(c.Filter)
	filter.Phi = c.Phi
	h := make([]float64, b.basis.K)
	filter.ResponseTo(h, b.basis.Lambda)
	return gemm.ToFloat32(h[:c.Rank])
}

// readout learns the read-out of the candidate's bands.
func (b *scorer) readout(c Candidate) (*dynamics.Readout, error) {
	bands, err := c.bands()
	if err != nil {
		return nil, err
	}
	opt := dynamics.Options{Bands: bands, Positions: int(c.Positions)}
	key := fmt.Sprint(c.Bands, " ", c.Positions)
	sums, err := b.sums.get(key, func() (*dynamics.Normal, error) {
		moments, err := b.moments.get(key, func() (*dynamics.Moments, error) {
			return dynamics.NewMoments(b.basis.N, b.train, opt)
		})
		if err != nil {
			return nil, err
		}
		return moments.Project(b.encoder, b.basis.K, func(done, total int) {
			b.progress("learning dynamics", done, total)
		}), nil
	})
	if err != nil {
		return nil, err
	}
	return sums.Prefix(c.Rank).Solve(c.Ridge)
}

// withDeviation scores the candidate with the deviation of each user tracked. The noise is learned
// on one half of the validation users and the other half is ranked, and the other way round.
// without is the score of the bands alone by the same arithmetic.
func (b *scorer) withDeviation(c Candidate) (with, without Trial, err error) {
	if err := b.prepare(c); err != nil {
		return with, without, err
	}
	readout, err := b.readout(c)
	if err != nil {
		return with, without, err
	}
	k, r := c.Rank, readout.R
	responses := make([]float32, b.basis.N*r*k)
	readout.RowsTo(responses, b.encoder, b.basis.K)
	rows := func(i int32) []float32 { return responses[int(i)*r*k : (int(i)+1)*r*k] }
	encoder := func(i int32) ([]float32, float32) {
		return b.encoder[int(i)*b.basis.K : int(i)*b.basis.K+k], 1
	}
	bands, err := c.bands()
	if err != nil {
		return with, without, err
	}
	plain := &kalman.Dynamics{Bands: bands, Mean: gemm.ToFloat32(readout.Mean)}
	decoder := b.rows(b.decoder, k)
	without = score(c, b.panel.rank(b.panel.fold(k, func(int) *kalman.Dynamics {
		return plain
	}, rows, encoder), decoder, true))
	var halves [2]*kalman.Dynamics
	for half := range halves {
		var learnFrom []kalman.History
		for u := 1 - half; u < len(b.panel.histories); u += 2 {
			learnFrom = append(learnFrom, b.panel.histories[u])
		}
		noise, err := dynamics.LearnNoise(plain, rows, encoder, learnFrom, nil)
		if err != nil {
			return with, without, err
		}
		halves[half] = &kalman.Dynamics{
			Bands: bands, Mean: plain.Mean, P0: noise.P0, SigmaEta: noise.SigmaEta,
			SigmaNu: noise.SigmaNu, Drift: noise.Drift,
		}
	}
	with = score(c, b.panel.rank(b.panel.fold(k, func(u int) *kalman.Dynamics {
		return halves[u%2]
	}, rows, encoder), decoder, true))
	return with, without, nil
}

// fold returns the queries of all positions from the states of kalman.Dynamics itself.
func (p *panel) fold(
	k int, of func(user int) *kalman.Dynamics, rows dynamics.Rows, encoder dynamics.Encoder,
) []float32 {
	queries := make([]float32, len(p.positions)*k)
	p.forEachUser(func(lo, hi int) {
		user := p.positions[lo].user
		d := of(user)
		s := d.NewState()
		for t, next := 0, lo; next < hi; t++ {
			if p.positions[next].at == t {
				d.QueryTo(queries[next*k:(next+1)*k], s)
				next++
			}
			e := p.histories[user][t]
			u, g := encoder(e.Item)
			d.Update(s, rows(e.Item), u, g, e.Weight, e.Time)
		}
	})
	return queries
}

// medianGap returns the median time between neighbouring events of the training users in seconds.
// It is 0 or 1 without useful times: most events of a user have the same time, or times are mere
// counters.
func medianGap(histories iter.Seq[kalman.History]) int64 {
	var gaps []int64
	for h := range histories {
		for t := 1; t < len(h); t++ {
			gaps = append(gaps, h[t].Time-h[t-1].Time)
		}
	}
	if len(gaps) == 0 {
		return 0
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}
