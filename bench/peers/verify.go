package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gsimc/gsimc/bench/internal/result"
	"github.com/gsimc/gsimc/internal/num/vec"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/trend"
)

// oracleQueries is how many queries share a block of rows in the cache while the right answers are
// computed.
const oracleQueries = 64

// verify counts the queries of which the model's search gives another item, another order or
// another bit of a score than the full float32 scan: one query at a time for the first 100, and
// several at once for the first 10.
func (s *session) verify(b *base) []result.Check {
	s.say("%s, n = %d, k = %d: comparing %d answers with those of the full scan", b.title, b.n, b.k,
		len(b.queries)/b.k)
	count := len(b.queries) / b.k
	trended := b.trended()
	var next, wrongSingle, wrongBatch, wrongLocal, wrongTrends atomic.Int64
	var wg sync.WaitGroup
	for range runtime.NumCPU() {
		wg.Go(func() {
			for s.ctx.Err() == nil {
				first := int(next.Add(oracleQueries)) - oracleQueries
				if first >= count {
					return
				}
				queries := b.queries[first*b.k : min(first+oracleQueries, count)*b.k]
				want := b.oracle(queries, 100)
				wrongSingle.Add(b.wrongSingles(queries, want))
				wrongBatch.Add(b.wrongBatches(queries, want))
				if b.local != nil {
					wrongLocal.Add(b.wrongOf(b.model, b.model, first, len(want)))
				}
				wrongTrends.Add(b.wrongOf(trended, trended, first, len(want)))
			}
		})
	}
	wg.Wait()
	check := func(name string, wrong int64) result.Check {
		return result.Check{
			Name:  name,
			Value: float64(wrong),
			Text:  fmt.Sprintf("%d of %d", wrong, count),
			Bad:   wrong > 0,
		}
	}
	checks := []result.Check{
		check(
			"answers that differ from the full float32 scan (ids, order or score bits), "+
				"top 100, one at a time",
			wrongSingle.Load(),
		),
		check(fmt.Sprintf("the same, top 10, %d queries at once", microBatch), wrongBatch.Load()),
	}
	if b.local != nil {
		checks = append(checks, check("the same with the local term, top 100 and top 10",
			wrongLocal.Load()))
	}
	return append(checks, check("the same with trends, which multiply scores and add to them, and "+
		"the local term, top 100 and top 10", wrongTrends.Load()))
}

// trended is the model with trends that are drawn, of about the size of the scores of a list.
func (b *base) trended() *model.Model {
	rng := rand.New(rand.NewPCG(uint64(b.n), uint64(b.k)))
	list := b.model.TopN(nil, b.spectral(b.queries, 0), 100, nil)
	s := &trend.Snapshot{Gain: float64(list[0].Score-list[len(list)-1].Score) / 2,
		G: make([]float32, b.n), Factors: make([]float32, b.n)}
	for i := range s.G {
		s.G[i] = float32(rng.NormFloat64())
		s.Factors[i] = float32(math.Exp(float64(s.G[i]) / 2))
	}
	return b.model.WithTrends(s)
}

// wrongOf counts the queries from first on that a model answers otherwise than by the scores that
// another one, as a rule itself, has for all items, with their local term if there is one: the
// first 100 and the first 10 items.
func (b *base) wrongOf(m, scored *model.Model, first, count int) (wrong int64) {
	scores := make([]float32, b.n)
	var got []ranking.Scored
	for i := first; i < first+count; i++ {
		query := b.spectral(b.queries, i)
		if b.local != nil {
			query.Boosts = b.local[i]
		}
		scored.ScoresTo(scores, query)
		var best ranking.TopN
		best.Reset(nil, 100)
		best.Offer(0, scores, nil)
		want := best.Sorted()
		same := true
		for _, top := range []int{100, 10} {
			got = m.TopN(got, query, top, nil)
			same = same && sameBits(got, want[:min(top, len(want))])
		}
		if !same {
			wrong++
		}
	}
	return wrong
}

// oracle returns the first top items of every query by the full scan. Blocks of rows small enough
// for the cache are gone through for all queries; the bits of a score do not depend on the block
// that it is computed in.
func (b *base) oracle(queries []float32, top int) [][]ranking.Scored {
	count := len(queries) / b.k
	selections := make([]ranking.TopN, count)
	for i := range selections {
		selections[i].Reset(nil, top)
	}
	if b.exact {
		rows := max(16, 256<<10/(4*b.k))
		scores := make([]float32, rows)
		for first := 0; first < b.n; first += rows {
			block := scores[:min(rows, b.n-first)]
			for i := range selections {
				vec.ScanTo(block, b.rows[first*b.k:(first+len(block))*b.k],
					queries[i*b.k:(i+1)*b.k])
				selections[i].Offer(int32(first), block, nil)
			}
		}
	} else {
		scores := make([]float32, b.n)
		for i := range selections {
			b.model.ScoresTo(scores, b.spectral(queries, i))
			selections[i].Offer(0, scores, nil)
		}
	}
	answers := make([][]ranking.Scored, count)
	for i := range selections {
		answers[i] = selections[i].Sorted()
	}
	return answers
}

// wrongSingles counts the queries that are answered otherwise than want when they are asked one by
// one.
func (b *base) wrongSingles(queries []float32, want [][]ranking.Scored) (wrong int64) {
	var got []ranking.Scored
	for i, w := range want {
		got = b.model.TopN(got, b.spectral(queries, i), len(w), nil)
		if !sameBits(got, w) {
			wrong++
		}
	}
	return wrong
}

// wrongBatches is wrongSingles for the first 10 items and batches.
func (b *base) wrongBatches(queries []float32, want [][]ranking.Scored) (wrong int64) {
	for first := 0; first < len(want); first += microBatch {
		batch := make([]ranking.Request, min(microBatch, len(want)-first))
		for j := range batch {
			i := first + j
			batch[j] = ranking.Request{Query: queries[i*b.k : (i+1)*b.k], N: 10}
		}
		b.model.TopNBatch(batch)
		for j, r := range batch {
			if w := want[first+j]; !sameBits(r.Top, w[:min(10, len(w))]) {
				wrong++
			}
		}
	}
	return wrong
}

// spectral returns query i of queries as a query without a local term: what the peers answer too.
func (b *base) spectral(queries []float32, i int) *model.Query {
	return &model.Query{Spectrum: queries[i*b.k : (i+1)*b.k]}
}

func sameBits(a, b []ranking.Scored) bool {
	return slices.EqualFunc(a, b, func(x, y ranking.Scored) bool {
		return x.Item == y.Item && math.Float32bits(x.Score) == math.Float32bits(y.Score)
	})
}
