package fit

import (
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/internal/num/vec"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model/local"
)

// popularityWeights are the weights of popularity that are tried, in units of the spread of the
// scores. They rise.
var popularityWeights = [...]float64{0, 0.1, 0.2, 0.4, 0.8}

// PopularityQuery returns the query h whose scores tell how popular the items are, as far as the
// basis can:
//
//	h = Σ_i P_i e_i,    v_j·h ≈ P_j
//
// with P_i = ln(1 + d_i) for d_i training users, less its mean and over its standard deviation. Of
// a basis of rank n the scores are P. The query is nil if all items are equally popular. O(nk).
func PopularityQuery(x *Items) []float32 {
	if slices.Min(x.Degrees) == slices.Max(x.Degrees) {
		return nil
	}
	p := make([]float64, x.N)
	for i, d := range x.Degrees {
		p[i] = math.Log1p(float64(d))
	}
	mean, deviation := moments(p)
	h := make([]float64, x.K)
	for i := range p {
		u, g := x.encoder(int32(i), x.K)
		c := (p[i] - mean) / deviation * float64(g)
		for j, y := range u {
			h[j] += float64(c * float64(y))
		}
	}
	return gemm.ToFloat32(h)
}

// moments returns the mean and the standard deviation.
func moments[T float32 | float64](v []T) (mean, deviation float64) {
	for _, y := range v {
		mean += float64(y)
	}
	mean /= float64(len(v))
	squares := 0.0
	for _, y := range v {
		d := float64(y) - mean
		squares += float64(d * d)
	}
	return mean, math.Sqrt(squares / float64(len(v)))
}

// Popularity chooses ω, how many times h of [PopularityQuery] is added to the query of every user,
// and returns ω and ω h, which is nil without h or with ω = 0. The walkers have all else that
// queries consist of. With KeepLocal ω is the given weight.
func (h *Histories) Popularity(
	x *Items, weight float64, newWalker func() Walker,
) (float64, []float32) {
	query := PopularityQuery(x)
	if query != nil && !h.KeepLocal {
		weight = chooseWeight(x, query, h.Validation, newWalker)
	}
	if query == nil || weight == 0 {
		return 0, nil
	}
	for j := range query {
		query[j] *= float32(weight)
	}
	return weight, query
}

// chooseWeight returns 0 if there are too few positions to choose on.
func chooseWeight(
	x *Items, query []float32, validation []kalman.History, newWalker func() Walker,
) float64 {
	p := &popularityChooser{x: x, popular: make([]float32, x.N)}
	if p.find(validation, newWalker); len(p.targets) < local.FewestPositions {
		return 0
	}
	vec.ScanTo(p.popular, x.Basis, query)
	p.decode(p.popular)
	return p.choose()
}

// popularityChooser measures the weights of popularity by the places of the targets of positions.
type popularityChooser struct {
	x       *Items
	popular []float32 // n, v_j·h
	targets []popularityTarget
	queries gemm.Matrix[float32] // positions×k, of the model without popularity
	scores  []float32            // of some positions
}

// popularityTarget is the target of a position, with what its query does not tell.
type popularityTarget struct {
	item  int32
	past  kalman.History
	local []ranking.Boost // the local term
}

// find finds the positions of a sample of users.
func (p *popularityChooser) find(validation []kalman.History, newWalker func() Walker) {
	type user struct {
		targets []popularityTarget
		queries []float32
	}
	users, last := sampleOf(validation, samplePositions(p.x.N), sampleUserPositions)
	found := make([]user, len(users))
	parallel.TasksWith(len(users), func() func(u int) {
		f, w := local.NewFinder(p.x.N, nil, 0), newWalker()
		return func(u int) {
			h, to := users[u], &found[u]
			w.Begin()
			f.Walk(h, last, func(at int, of local.Position) {
				query, term := w.Query()
				to.queries = append(to.queries, query...)
				to.targets = append(to.targets, popularityTarget{of.Target.Item, h[:at], term})
			}, w.Fold)
		}
	})
	queries := make([][]float32, len(found))
	for i := range found {
		p.targets = append(p.targets, found[i].targets...)
		queries[i] = found[i].queries
	}
	p.queries = gemm.Matrix[float32]{
		Rows: len(p.targets), Cols: p.x.K, Stride: p.x.K, Data: slices.Concat(queries...),
	}
}

// choose returns the largest weight that is better than none beyond the noise, and no worse than
// smaller ones; 0 if there is none. The best one would be too small: all constants before it fit
// these users best without popularity.
func (p *popularityChooser) choose() float64 {
	spread := p.spread()
	weights := popularityWeights
	gains := make([]local.Gains, len(weights))
	for w := range weights {
		weights[w] *= spread
		gains[w] = make(local.Gains, len(p.targets))
	}
	step := p.together()
	for first := 0; first < len(p.targets); first += step {
		part := p.queries
		part.Rows, part.Data = min(step, part.Rows-first), part.Data[first*part.Stride:]
		p.score(part)
		parallel.TasksWith(part.Rows, func() func(int) {
			sums := make([]float32, p.x.N)
			return func(i int) {
				t, scores := &p.targets[first+i], row(p.scores, i, p.x.N)
				t.complete(scores)
				for w, weight := range weights {
					gains[w][first+i] = placeValue(p.place(sums, scores, weight, t.item))
				}
			}
		})
	}
	best := 0
	for w := range weights {
		if gains[w].Beats(gains[0]) && !gains[best].Beats(gains[w]) {
			best = w
		}
	}
	return min(weights[best], 1e6) // what a Spec may have
}

// together is the number of positions whose scores are held at a time.
func (p *popularityChooser) together() int { return max(sampleScores/p.x.N, 1) }

// score stores the scores v_j·q of all items for some queries, a row each.
func (p *popularityChooser) score(queries gemm.Matrix[float32]) {
	n := p.x.N
	if need := n * queries.Rows; len(p.scores) < need {
		p.scores = make([]float32, need)
	}
	items := gemm.Matrix[float32]{Rows: n, Cols: p.x.K, Stride: p.x.K, Data: p.x.Basis}
	scores := gemm.Matrix[float32]{Rows: queries.Rows, Cols: n, Stride: n, Data: p.scores}
	clear(p.scores[:n*queries.Rows])
	gemm.MulAdd(scores, 1, gemm.Plain, queries, gemm.Transposed, items)
	parallel.Tasks(queries.Rows, func(i int) { p.decode(row(p.scores, i, n)) })
}

// decode makes v_j·q of u_j·q.
func (p *popularityChooser) decode(products []float32) {
	for j, g := range p.x.DecoderScale {
		products[j] *= g
	}
}

// complete adds the local term to scores, and takes the items of the history out.
func (t *popularityTarget) complete(scores []float32) {
	ranking.AddBoosts(scores, t.local)
	for _, e := range t.past {
		scores[e.Item] = float32(math.Inf(-1))
	}
}

// place returns the place of a target, from 1, with popularity of a weight. The items of equal
// scores are above it. sums is overwritten.
func (p *popularityChooser) place(sums, scores []float32, weight float64, target int32) int {
	w := float32(weight)
	for j, y := range p.popular {
		sums[j] = scores[j] + float32(w*y)
	}
	return vec.CountAtLeast(sums, sums[target])
}

// spread returns the standard deviation of the scores of a position without its local term, in the
// mean of evenly spaced positions.
func (p *popularityChooser) spread() float64 {
	const some = 64
	sum := 0.0
	for i := range some {
		one, at := p.queries, i*p.queries.Rows/some
		one.Rows, one.Data = 1, row(one.Data, at, one.Cols)
		p.score(one)
		_, deviation := moments(p.scores[:p.x.N])
		sum += deviation
	}
	return sum / some
}

// placeValue is the value of a target at a place: that of NDCG@100. It is long lists that want
// popularity; the constants before it were chosen by the first ten places.
func placeValue(place int) float64 {
	if place > local.TopLength {
		return 0
	}
	return 1 / math.Log2(float64(place)+1)
}
