package topn

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/gsimc/gsimc/internal/parallel"
	"github.com/gsimc/gsimc/internal/vec"
)

// Index is a matrix and its copy in int8. It does not change: its methods are safe for concurrent use.
type Index struct {
	rows  []float32 // n×k, U
	gain  []float32 // n, g
	n, k  int
	first int32 // number of the item of row 0

	quantised bool // the int8 copy exists; if not, everything is done in float32
	columns   int  // k, rounded up to a multiple of four

	memory   []byte    // that the arrays of rows below stand in
	numbers  []byte    // c of each row, whole blocks, see package vec
	row      []int32   // of the matrix, that each row of the copy is, n
	scale    []float32 // s_i of each row, whole blocks
	slack    []float32 // E_i
	reach    []float32 // R of each block: largest ‖v_i‖ in it or in any block behind it
	order    []int32   // of the blocks in a scan: a sample first
	sample   int       // how many blocks the sample has
	relative float64   // e_max
	maxDigit int       // largest |h| of a query

	searches sync.Pool // of *search
	cleanup  runtime.Cleanup
}

// Limits of the norms within which the bound of the package comment holds.
const (
	shortest = 0x1p-60
	longest  = 0x1p60
)

// New makes the index of the n×k matrix rows with gains, len(gain) = n, whose items are numbered from first on. It keeps both,
// which must not change. Numbers must be finite and gains not negative. O(nk), on all processors. On a processor that is not
// faster with int8 the index holds no copy. The memory of the copy is given back by Close, or
// when the index is garbage.
func New(rows, gain []float32, k int, first int32) *Index {
	n := len(gain)
	if len(rows) != n*k {
		panic(fmt.Sprintf("topn: %d numbers, want %d rows of %d", len(rows), n, k))
	}
	x := &Index{rows: rows, gain: gain, n: n, k: k, first: first}
	x.searches.New = func() any { return new(search) }
	if !vec.QuantisedScans() || n == 0 || k == 0 {
		return x
	}
	norms := make([]float64, n)
	parallel.Strips(n, vec.BlockRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			norms[i] = x.norm(i)
		}
	})
	if slices.Max(norms) > longest {
		return x
	}
	x.quantised = true
	x.layOut(norms)
	relative := make([]float64, x.blocks())
	parallel.TasksWith(x.blocks(), func() func(b int) {
		c := make([]int8, x.columns)
		return func(b int) { relative[b] = x.fill(b, c, norms) }
	})
	x.relative = slices.Max(relative)
	return x
}

// Close gives the memory of the copy back at once. The index must not be used any more.
func (x *Index) Close() {
	x.cleanup.Stop()
	release(x.memory)
	x.memory, x.numbers, x.scale, x.slack, x.quantised = nil, nil, nil, nil, false
	x.rows, x.gain, x.n = nil, nil, 0
}

// Bytes is the memory of the copy.
func (x *Index) Bytes() int {
	return len(x.memory) + 4*(len(x.row)+len(x.reach)+len(x.order))
}

func (x *Index) blocks() int { return (x.n + vec.BlockRows - 1) / vec.BlockRows }

// block returns the numbers of block b.
func (x *Index) block(b int) []byte {
	size := vec.BlockBytes(x.columns)
	return x.numbers[b*size : (b+1)*size]
}

// cached is the size of a copy in bytes up to which it is likely to be in the processor's caches, where to fetch ahead costs
// more than it gains.
const cached = 24 << 20

// blockAfter returns the numbers of the block that follows place at in the order of a scan, if they should be fetched ahead.
func (x *Index) blockAfter(at int) []byte {
	if at+1 >= len(x.order) || len(x.numbers) <= cached {
		return nil
	}
	return x.block(int(x.order[at+1]))
}

// layOut orders the rows and allocates.
func (x *Index) layOut(norms []float64) {
	x.columns = (x.k + 3) &^ 3
	// |c·h| ≤ 127·columns·maxDigit must stay below 2^31.
	x.maxDigit = min(vec.MaxDigit, math.MaxInt32/(127*x.columns))
	x.row = make([]int32, x.n)
	for i := range x.row {
		x.row[i] = int32(i)
	}
	slices.SortStableFunc(x.row, func(a, b int32) int { return cmp.Compare(norms[b], norms[a]) })
	x.cutMemory(x.blocks() * vec.BlockRows)
	most := underflow(x.k, float64(slices.Max(x.gain)))
	x.reach = make([]float32, x.blocks())
	for b := range x.reach {
		x.reach[b] = up(norms[x.row[b*vec.BlockRows]] + most)
	}
	x.chooseSample()
}

// cutMemory allocates what is kept of the given number of rows.
func (x *Index) cutMemory(rows int) {
	const perRow = 2 * 4 // bytes of scale and slack
	x.memory = allocate(rows * (x.columns + perRow))
	x.cleanup = runtime.AddCleanup(x, release, x.memory)
	x.numbers = x.memory[:rows*x.columns]
	numbers := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x.memory[rows*x.columns:]))), 2*rows)
	x.scale, x.slack = numbers[:rows:rows], numbers[rows:]
}

// A scan begins with a sample of one block in sampled, but no fewer than fewestBlocks, if there are several times as many, and
// no more than mostBlocks.
const (
	sampled      = 16
	fewestBlocks = 8
	mostBlocks   = 16
)

// chooseSample orders the blocks: evenly spread ones first, each from the middle of its part, then the others as they stand.
func (x *Index) chooseSample() {
	n := x.blocks()
	x.sample = min(max(n/sampled, fewestBlocks), mostBlocks)
	if n < 4*fewestBlocks {
		x.sample = 0
	}
	x.order = make([]int32, 0, n)
	inSample := make([]bool, n)
	for j := range x.sample {
		b := (2*j + 1) * n / (2 * x.sample)
		inSample[b] = true
		x.order = append(x.order, int32(b))
	}
	for b, already := range inSample {
		if !already {
			x.order = append(x.order, int32(b))
		}
	}
}

// norm is ‖v_i‖.
func (x *Index) norm(i int) float64 {
	g, sum := float64(x.gain[i]), 0.0
	for _, u := range x.rows[i*x.k : (i+1)*x.k] {
		v := g * float64(u)
		sum += v * v
	}
	return math.Sqrt(sum)
}

// fill makes the int8 rows of block b and returns the largest e_i/‖v_i‖. c is room for a row.
func (x *Index) fill(b int, c []int8, norms []float64) (relative float64) {
	for row := b * vec.BlockRows; row < min((b+1)*vec.BlockRows, x.n); row++ {
		i := int(x.row[row])
		var missing float64
		x.scale[row], missing = x.quantise(c, i)
		x.slack[row] = up(missing + underflow(x.k, float64(x.gain[i])))
		if norms[i] > 0 {
			relative = max(relative, missing/norms[i])
		}
		vec.SetBlockRow(x.block(b), row%vec.BlockRows, c)
	}
	return relative
}

// quantise stores the numbers of v_i in c and returns s_i and e_i.
func (x *Index) quantise(c []int8, i int) (step float32, missing float64) {
	u, g, largest := x.rows[i*x.k:(i+1)*x.k], float64(x.gain[i]), 0.0
	for _, v := range u {
		largest = max(largest, math.Abs(g*float64(v)))
	}
	clear(c)
	step = float32(largest / 127)
	if step == 0 { // a row of zeros, or of numbers that underflow takes away
		return 0, x.norm(i)
	}
	inverse, sum := 1/float64(step), 0.0
	for j, v := range u {
		w := g * float64(v)
		q := min(max(math.RoundToEven(w*inverse), -127), 127)
		c[j] = int8(q)
		d := w - q*float64(step)
		sum += d * d
	}
	return step, math.Sqrt(sum)
}

// underflow is η: what underflow takes from a score, and from its approximation, for each unit of a query's norm. A product
// loses at most 2^-149, there are k of them and a few more operations, and the query is at least as long as shortest.
func underflow(k int, gain float64) float64 {
	return float64(k+16) * 0x1p-149 / shortest * max(gain, 1)
}

// up rounds to a float32 that is not smaller.
func up(v float64) float32 { return math.Nextafter32(float32(v*(1+0x1p-40)), float32(math.Inf(1))) }
