package topn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/num/vec"
	"github.com/gsimc/gsimc/internal/ranking"
)

// BenchmarkSearch: one request, and several that share the pass, beside the scan in float32 and the
// reading of the int8 rows.
func BenchmarkSearch(b *testing.B) {
	for _, s := range []struct{ n, k int }{
		{20_000, 256}, {17_770, 1000}, {200_000, 256}, {1_000_000, 128},
	} {
		rng := rand.New(rand.NewPCG(9, 9))
		x := New(gaussian(rng, s.n, s.k), slices.Repeat([]float32{1}, s.n), s.k, 0)
		queries := make([][]float32, 64)
		for i := range queries {
			queries[i] = gaussian(rng, 1, s.k)
		}
		for _, top := range []int{10, 100} {
			for _, size := range []int{1, 4, 16} {
				name := fmt.Sprintf("n=%d/k=%d/top=%d/batch=%d", s.n, s.k, top, size)
				b.Run(name, func(b *testing.B) {
					batch := make([]ranking.Request, size)
					at := 0
					for b.Loop() {
						for i := range batch {
							batch[i].Query, batch[i].N = queries[at%len(queries)], top
							at++
						}
						x.Search(batch, nil)
					}
					total := float64(b.Elapsed().Microseconds())
					b.ReportMetric(total/float64(b.N*size), "µs/request")
				})
			}
		}
		for _, size := range []int{1, 16} {
			name := fmt.Sprintf("n=%d/k=%d/top=100/float32/batch=%d", s.n, s.k, size)
			b.Run(name, func(b *testing.B) {
				searches := make([]*search, size)
				for i := range searches {
					searches[i] = &search{ix: x, order: &x.few, req: ranking.Request{N: 100}}
				}
				at := 0
				for b.Loop() {
					for _, s := range searches {
						s.req.Query = queries[at%len(queries)]
						at++
					}
					x.scan(searches)
				}
				total := float64(b.Elapsed().Microseconds())
				b.ReportMetric(total/float64(b.N*size), "µs/request")
			})
		}
		// Without selection: the limit that the memory sets.
		b.Run(fmt.Sprintf("n=%d/k=%d/read", s.n, s.k), func(b *testing.B) {
			var q query
			q.set(x, queries[0], x.maxDigit)
			q.prepare(x)
			var c vec.Candidates
			b.SetBytes(int64(len(x.bytes.numbers)))
			for b.Loop() {
				read(&c, x, &q)
			}
		})
	}
}

// read multiplies all blocks and looks at nothing.
func read(c *vec.Candidates, x *Index, q *query) {
	none := float32(math.Inf(1))
	for b := range x.blocks() {
		from := b * vec.BlockRows
		q.bounds.Scale = x.bytes.scale[from : from+vec.BlockRows]
		q.bounds.Error = x.bytes.slack[from : from+vec.BlockRows]
		q.bounds.CollectTo(c, x.bytes.block(b), &q.digits, none, 0, x.bytes.block((b+1)%x.blocks()))
	}
}

// BenchmarkFilters: what exclusions and allow-lists cost, beside a search without.
func BenchmarkFilters(b *testing.B) {
	const n, k, top = 20_000, 256, 100
	rng := rand.New(rand.NewPCG(9, 9))
	x := New(gaussian(rng, n, k), slices.Repeat([]float32{1}, n), k, 0)
	queries := gaussian(rng, 64, k)
	for _, skipped := range []int{0, 100, 1_000, n / 2} {
		skip := ranking.NewSet(n)
		for _, i := range rng.Perm(n)[:skipped] {
			skip.Add(int32(i))
		}
		name := fmt.Sprintf("n=%d/k=%d/top=%d/skipped=%d", n, k, top, skipped)
		benchmarkRequest(b, name, x, queries, ranking.Request{N: top, Skip: skip})
	}
	for _, allowed := range []int{100, 1_000, 10_000} {
		among := make([]int32, allowed)
		for j, i := range rng.Perm(n)[:allowed] {
			among[j] = int32(i)
		}
		name := fmt.Sprintf("n=%d/k=%d/top=%d/among=%d", n, k, top, allowed)
		benchmarkRequest(b, name, x, queries, ranking.Request{N: top, Among: among})
	}
}

func benchmarkRequest(b *testing.B, name string, x *Index, queries []float32, r ranking.Request) {
	b.Run(name, func(b *testing.B) {
		batch := []ranking.Request{r}
		b.ReportAllocs()
		for at := 0; b.Loop(); at = (at + x.k) % len(queries) {
			batch[0].Query = queries[at : at+x.k]
			x.Search(batch, nil)
		}
	})
}

// BenchmarkAdditions: a search with additions to all scores, a third as wide as the scores, beside
// one without.
func BenchmarkAdditions(b *testing.B) {
	for _, s := range []struct{ n, k int }{{20_000, 256}, {17_770, 1000}, {200_000, 256}} {
		rng := rand.New(rand.NewPCG(9, 9))
		x := New(gaussian(rng, s.n, s.k), slices.Repeat([]float32{1}, s.n), s.k, 0)
		of := gaussian(rng, s.n, 1)
		for i := range of {
			of[i] *= float32(math.Sqrt(float64(s.k)) / 3)
		}
		queries := gaussian(rng, 64, s.k)
		for _, top := range []int{10, 100} {
			for name, added := range map[string]*Additions{
				"without": nil, "with": NewAdditions(x, of),
			} {
				b.Run(fmt.Sprintf("n=%d/k=%d/top=%d/%s", s.n, s.k, top, name), func(b *testing.B) {
					batch := []ranking.Request{{N: top}}
					for at := 0; b.Loop(); at = (at + s.k) % len(queries) {
						batch[0].Query = queries[at : at+s.k]
						x.Search(batch, added)
					}
				})
			}
		}
	}
}
