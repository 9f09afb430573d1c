package spectral

import (
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/spectral/internal/dense"
	"github.com/gsimc/gsimc/spectral/internal/eigen"
)

// maxGramItems is the largest number of items for a dense K: item indices have 16 bits there.
const maxGramItems = 1 << 16

// gramChunk is the number of interactions of the users that are handled together. Their lists, of
// two bytes an item, stay in the cache while all rows of K are updated. A smaller chunk would move
// K to and from memory more often.
const gramChunk = 1 << 21

// maxChunkUsers bounds the users of a chunk.
const maxChunkUsers = math.MaxUint16

// userChunk holds the items of some users in the order in which newGramOp needs them.
type userChunk struct {
	items  []uint16  // of each user, rising
	start  []int32   // user u of the chunk has the items from start[u] on
	weight []float32 // of each user
	ptr    []int32   // item i has the visits ptr[i]:ptr[i+1]
	visits []visit
}

// A visit is an interaction of an item: items[start[user]:end] are the items of its user up to this
// one.
type visit struct {
	end  int32
	user uint16
}

// newChunk prepares a chunk of users of g, from first on until it is full. next is the user after
// the last one.
func newChunk(g *hypergraph, first int) (c *userChunk, next int) {
	r := g.r
	next = first + 1
	for next < r.NumUsers() && r.Ptr[next+1]-r.Ptr[first] <= gramChunk &&
		next-first < maxChunkUsers {
		next++
	}
	base, size := r.Ptr[first], int(r.Ptr[next]-r.Ptr[first])
	c = &userChunk{
		items: make([]uint16, size), visits: make([]visit, size), ptr: make([]int32, r.NumItems+1),
		start: make([]int32, next-first), weight: make([]float32, next-first),
	}
	for _, i := range r.Item[base:r.Ptr[next]] {
		c.ptr[i+1]++
	}
	for i := range r.NumItems {
		c.ptr[i+1] += c.ptr[i]
	}
	at := make([]int32, r.NumItems)
	copy(at, c.ptr)
	for u := first; u < next; u++ {
		for _, i := range r.Item[r.Ptr[u]:r.Ptr[u+1]] {
			c.visits[at[i]].user = uint16(u - first)
			at[i]++
		}
		c.start[u-first] = int32(r.Ptr[u] - base)
		c.weight[u-first] = float32(g.eScale[u])
	}
	filled := make([]int32, next-first)
	copy(filled, c.start)
	for i := range r.NumItems {
		for e := c.ptr[i]; e < c.ptr[i+1]; e++ {
			v := &c.visits[e]
			c.items[filled[v.user]] = uint16(i)
			filled[v.user]++
			v.end = filled[v.user]
		}
	}
	return c, next
}

// gramOp multiplies by a dense K.
type gramOp struct {
	n int
	k []float32
}

func (g *gramOp) Dim() int { return g.n }

// Strip is wide: each row of K is read once for all columns.
func (g *gramOp) Strip() int { return 128 }

func (g *gramOp) ApplyTo(dst, x []float32, b int) {
	clear(dst)
	k := dense.Matrix[float32]{Rows: g.n, Cols: g.n, Stride: g.n, Data: g.k}
	in := dense.Matrix[float32]{Rows: g.n, Cols: b, Stride: b, Data: x}
	out := dense.Matrix[float32]{Rows: g.n, Cols: b, Stride: b, Data: dst}
	dense.MulAdd(out, 1, k, in)
}

// newGramOp forms K of a hypergraph as a dense matrix, by one addition for each pair of items of
// each user. The part of a chunk in row i of Rᵀ D_e^{-s} R is a float32 sum of its own, which is
// then added to K: a sum over all users at once would lose accuracy.
func newGramOp(g *hypergraph, m *eigen.Meter) *gramOp {
	n := g.Dim()
	op := &gramOp{n: n, k: make([]float32, n*n)}
	chunks := make(chan *userChunk)
	go func() {
		for first := 0; first < g.r.NumUsers(); {
			var c *userChunk
			c, first = newChunk(g, first)
			chunks <- c
		}
		close(chunks)
	}()
	done := 0
	for c := range chunks {
		op.add(c)
		done += len(c.items)
		m.Update(float64(done) / float64(len(g.r.Item)))
	}
	op.finish(g.vScale)
	return op
}

// gramRows is the number of rows of K that a worker takes at a time.
const gramRows = 64

// add adds the users of a chunk to the lower triangle of K.
func (g *gramOp) add(c *userChunk) {
	strips := (g.n + gramRows - 1) / gramRows
	parallel.TasksWith(strips, func() func(int) {
		sums := new([maxGramItems]float32)
		return func(strip int) {
			for i := strip * gramRows; i < min((strip+1)*gramRows, g.n); i++ {
				g.addRow(i, c, sums)
			}
		}
	})
}

// addRow adds the users of a chunk to row i of K up to the diagonal. sums is 0 before and after.
func (g *gramOp) addRow(i int, c *userChunk, sums *[maxGramItems]float32) {
	visits := c.visits[c.ptr[i]:c.ptr[i+1]]
	if len(visits) == 0 {
		return
	}
	for _, v := range visits {
		scatter(sums, c.items[c.start[v.user]:v.end], c.weight[v.user])
	}
	x := blas32.Vector{N: i + 1, Inc: 1, Data: sums[:i+1]}
	blas32.Axpy(1, x, blas32.Vector{N: i + 1, Inc: 1, Data: g.k[i*g.n : i*g.n+i+1]})
	clear(sums[:i+1])
}

// scatter adds w to the sums of the items, which are different ones.
func scatter(sums *[maxGramItems]float32, items []uint16, w float32) {
	for len(items) >= 4 {
		i0, i1, i2, i3 := items[0], items[1], items[2], items[3]
		s0, s1, s2, s3 := sums[i0]+w, sums[i1]+w, sums[i2]+w, sums[i3]+w
		sums[i0], sums[i1], sums[i2], sums[i3] = s0, s1, s2, s3
		items = items[4:]
	}
	for _, i := range items {
		sums[i] += w
	}
}

// finish scales the rows and columns of K and mirrors its lower triangle, in tiles.
func (g *gramOp) finish(scale []float64) {
	n := g.n
	parallel.Strips(n, gramRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			for j, v := range g.k[i*n : i*n+i+1] {
				g.k[i*n+j] = float32(float64(v) * scale[i] * scale[j])
			}
		}
	})
	parallel.Strips(n, gramRows, func(lo, hi int) { // rows of the upper triangle
		for j0 := lo; j0 < n; j0 += gramRows {
			j1 := min(j0+gramRows, n)
			for j := j0; j < j1; j++ {
				from := g.k[j*n+lo : j*n+min(hi, j)]
				for i, v := range from {
					g.k[(lo+i)*n+j] = v
				}
			}
		}
	})
}
