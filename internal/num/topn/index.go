package topn

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/internal/num/vec"
)

// Index is a matrix and its copies in small integers. It does not change: its methods are safe for
// concurrent use.
type Index struct {
	rows  []float32 // n×k, U
	gain  []float32 // n, g
	n, k  int
	first int32 // number of the item of row 0

	quantised bool // there are copies; if not, everything is done in float32
	columns   int  // k, rounded up to a multiple of eight

	norms  []float64 // n, ‖v_i‖
	memory []byte    // of all arrays of the copies, unless it is of the Go heap
	bytes  copied    // in int8
	five   copied    // in five bits, or empty
	layout
	rotation rotation // of the rows of the copies
	relative float64  // e_max, of both copies
	maxDigit int      // largest |h| of a query

	times multiple

	searches sync.Pool // of *search
	cleanup  runtime.Cleanup
}

// layout says where the rows stand in the copies.
type layout struct {
	row   []int32   // n, the row of the matrix of each row of the copies
	place []int32   // n, its inverse
	reach []float32 // R of each block: largest ‖v_i‖ in it or in any block behind it
	few   order     // of a scan for few items
	many  order     // and for many, with a larger sample
}

// copied is a copy of the rows in small integers.
type copied struct {
	numbers   []byte    // c of each row, whole blocks, see package vec
	blockSize int       // bytes
	scale     []float32 // s_i of each row, whole blocks
	slack     []float32 // E_i
}

// block returns the numbers of block b.
func (c *copied) block(b int) []byte { return c.numbers[b*c.blockSize : (b+1)*c.blockSize] }

// The bound of the package comment holds for norms from shortest to longest, of queries, of rows,
// and of rows with their gains. mostRank limits the rank so that the error of a row in int8 is
// smaller than the row.
const (
	shortest = 0x1p-60
	longest  = 0x1p60
	mostRank = 1 << 15
)

// New makes the index of the n×k matrix rows with gains, len(gain) = n, whose items are numbered
// from first on. It keeps both slices, which must not change. Numbers must be finite and gains not
// negative. The index holds no copy on a processor that is not faster with int8, and for numbers or
// ranks beyond the limits. Close gives the memory of the copies back, and so does the garbage
// collector. O(nk), on all processors.
func New(rows, gain []float32, k int, first int32) *Index {
	five := vec.FiveBitsFaster() && k <= narrow && len(rows) > cached
	return newIndex(rows, gain, k, first, five)
}

// narrow is the largest rank with a copy in five bits, whose error grows with √k beside the spread
// of the scores.
const narrow = 512

// newIndex is New with a copy in five bits or without.
func newIndex(rows, gain []float32, k int, first int32, five bool) *Index {
	n := len(gain)
	if len(rows) != n*k {
		panic(fmt.Sprintf("topn: %d numbers, want %d rows of %d", len(rows), n, k))
	}
	x := &Index{rows: rows, gain: gain, n: n, k: k, first: first}
	x.searches.New = func() any { return new(search) }
	if !vec.QuantisedScans() || n == 0 || k == 0 || k > mostRank {
		return x
	}
	norms, plain := make([]float64, n), make([]float64, n)
	parallel.Strips(n, vec.BlockRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			norms[i], plain[i] = x.norm(i, float64(gain[i])), x.norm(i, 1)
		}
	})
	if max(slices.Max(norms), slices.Max(plain)) > longest {
		return x
	}
	x.quantised, x.norms = true, norms
	x.rotation = x.chooseRotation(norms)
	x.layOut(five, x.allocate)
	relative := make([]float64, x.blocks())
	parallel.TasksWith(x.blocks(), func() func(b int) {
		room := rowRoom{make([]float64, x.k), make([]int8, x.columns), make([]uint8, x.columns)}
		return func(b int) { relative[b] = x.fill(b, &room, norms) }
	})
	x.relative = slices.Max(relative)
	return x
}

// Close gives the memory of the copies back at once. The index must not be used any more.
func (x *Index) Close() {
	x.cleanup.Stop()
	release(x.memory)
	x.memory, x.bytes, x.five, x.quantised = nil, copied{}, copied{}, false
	x.rows, x.gain, x.n = nil, nil, 0
	x.times.last.Store(nil)
}

// Bytes is the memory of the copies, which is not part of the Go heap.
func (x *Index) Bytes() int64 { return int64(len(x.memory)) }

func (x *Index) blocks() int { return (x.n + vec.BlockRows - 1) / vec.BlockRows }

// placeOf returns the place of a row of the matrix in the copies, or the row if there are none.
func (x *Index) placeOf(row int32) int32 {
	if x.place == nil {
		return row
	}
	return x.place[row]
}

// cached is the size in bytes up to which a copy is likely to be in the processor's caches. There,
// fetching ahead costs more than it gains, and fewer bits are not read faster.
const cached = 24 << 20

// order is the sequence in which a scan reads the blocks.
type order struct {
	blocks []int32 // a sample first
	sample int     // how many blocks it has
}

// after returns the numbers of the block that follows place at, if they should be fetched ahead.
func (o *order) after(c *copied, at int) []byte {
	if at+1 >= len(o.blocks) || len(c.numbers) <= cached {
		return nil
	}
	return c.block(int(o.blocks[at+1]))
}

// allocate allocates the memory of copies outside of the Go heap.
func (x *Index) allocate(size int) []byte {
	x.memory = allocate(size)
	x.cleanup = runtime.AddCleanup(x, release, x.memory)
	return x.memory
}

// layOut orders the rows and allocates.
func (x *Index) layOut(five bool, allocate func(size int) []byte) {
	x.columns = (x.k + 7) &^ 7
	// |c·h| ≤ 127·columns·maxDigit must stay below 2^31.
	x.maxDigit = min(vec.MaxDigit, math.MaxInt32/(127*x.columns))
	x.row = make([]int32, x.n)
	for i := range x.row {
		x.row[i] = int32(i)
	}
	slices.SortStableFunc(x.row, func(a, b int32) int {
		return cmp.Compare(x.norms[b], x.norms[a])
	})
	x.place = make([]int32, x.n)
	for place, row := range x.row {
		x.place[row] = int32(place)
	}
	x.cutMemory(five, allocate)
	most := underflow(x.k, float64(slices.Max(x.gain)))
	x.reach = make([]float32, x.blocks())
	for b := range x.reach {
		x.reach[b] = up(x.norms[x.row[b*vec.BlockRows]] + most)
	}
	x.few = x.sampled(sampledForFew, mostForFew)
	x.many = x.sampled(sampledForMany, mostForMany)
}

// cutMemory allocates the copies.
func (x *Index) cutMemory(five bool, allocate func(size int) []byte) {
	x.bytes.blockSize = vec.BlockBytes(x.columns)
	copies := []*copied{&x.bytes}
	if five {
		x.five.blockSize = vec.FiveBitBlockBytes(x.columns)
		copies = append(copies, &x.five)
	}
	blocks := x.blocks()
	rows, size := blocks*vec.BlockRows, 0
	for _, c := range copies {
		size += blocks*c.blockSize + 2*4*rows // scale and slack
	}
	rest := allocate(size)
	for _, c := range copies {
		end := blocks * c.blockSize
		c.numbers = rest[:end:end]
		numbers := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(rest[end:]))), 2*rows)
		c.scale, c.slack = numbers[:rows:rows], numbers[rows:]
		rest = rest[end+2*4*rows:]
	}
}

// A scan begins with a sample, of one block in sampledForFew or sampledForMany: at least
// fewestBlocks, if there are at least four times as many, and at most mostForFew or mostForMany. A
// larger sample gives a floor closer to the N-th score, which saves more where N is large. A scan
// for few items ends before it has read as much. With five bits a better floor saves more, because
// candidates are scored in float32 on the way: there, a sample has at most mostForFive blocks.
const (
	sampledForFew  = 16
	sampledForMany = 8
	fewestBlocks   = 8
	mostForFew     = 16
	mostForMany    = 64
	mostForFive    = 8 * mostForFew

	manyItems  = 40  // the least number that is many
	manyBlocks = 256 // the least number of blocks for which it matters
)

// orderFor returns the order of a scan for n items.
func (x *Index) orderFor(n int) *order {
	if n >= manyItems && x.blocks() >= manyBlocks {
		return &x.many
	}
	return &x.few
}

// sampled returns an order that begins with a sample: one block in inSo, but no more than most,
// each from the middle of its part. The other blocks follow as they stand.
func (x *Index) sampled(inSo, most int) (o order) {
	n := x.blocks()
	if x.five.numbers != nil {
		most = mostForFive
	}
	o.sample = min(max(n/inSo, fewestBlocks), most)
	if n < 4*fewestBlocks {
		o.sample = 0
	}
	o.blocks = make([]int32, 0, n)
	inSample := make([]bool, n)
	for j := range o.sample {
		b := (2*j + 1) * n / (2 * o.sample)
		inSample[b] = true
		o.blocks = append(o.blocks, int32(b))
	}
	for b, already := range inSample {
		if !already {
			o.blocks = append(o.blocks, int32(b))
		}
	}
	return o
}

// norm is ‖g u_i‖.
func (x *Index) norm(i int, g float64) float64 {
	sum := 0.0
	for _, u := range x.rows[i*x.k : (i+1)*x.k] {
		v := g * float64(u)
		sum += v * v
	}
	return math.Sqrt(sum)
}

// rowRoom is memory for one row and its numbers.
type rowRoom struct {
	row  []float64
	c    []int8
	five []uint8
}

// fill makes the rows of block b and returns the largest e_i/‖v_i‖.
func (x *Index) fill(b int, r *rowRoom, norms []float64) (relative float64) {
	set := func(to *copied, row int, scale float32, missing float64) {
		i := x.row[row]
		to.scale[row] = scale
		to.slack[row] = up(missing + underflow(x.k, float64(x.gain[i])))
		if norms[i] > 0 {
			relative = max(relative, missing/norms[i])
		}
	}
	for row := b * vec.BlockRows; row < min((b+1)*vec.BlockRows, x.n); row++ {
		x.rowTo(r.row, int(x.row[row]))
		step, missing := quantise(r.c, r.row)
		set(&x.bytes, row, step, missing)
		vec.SetBlockRow(x.bytes.block(b), row%vec.BlockRows, r.c)
		if x.five.numbers != nil {
			step, missing := quantiseFive(r.five, r.row)
			set(&x.five, row, step, missing)
			vec.SetFiveBitRow(x.five.block(b), row%vec.BlockRows, r.five)
		}
	}
	return relative
}

// rowTo sets v to Q v_i.
func (x *Index) rowTo(v []float64, i int) {
	g := float64(x.gain[i])
	for j, u := range x.rows[i*x.k : (i+1)*x.k] {
		v[j] = g * float64(u)
	}
	x.rotation.apply(v)
}

// quantise stores the numbers of v in c and returns s and e.
func quantise(c []int8, v []float64) (step float32, missing float64) {
	clear(c)
	step = float32(largest(v) / 127)
	if step == 0 { // a row of zeros, or of numbers that underflow takes away
		return 0, norm(v)
	}
	inverse, sum := 1/float64(step), 0.0
	for j, w := range v {
		q := min(max(math.RoundToEven(w*inverse), -127), 127)
		c[j] = int8(q)
		d := w - q*float64(step)
		sum += d * d
	}
	return step, math.Sqrt(sum)
}

// quantiseFive stores b for the numbers 2b − 31 of v in d, and returns s and e.
func quantiseFive(d []uint8, v []float64) (step float32, missing float64) {
	clear(d)
	step = float32(largest(v) / 32)
	if step == 0 {
		return 0, norm(v)
	}
	inverse, sum := 1/(2*float64(step)), 0.0
	for j, w := range v {
		b := min(max(math.Floor(w*inverse)+16, 0), 31)
		d[j] = uint8(b)
		e := w - (2*b-31)*float64(step)
		sum += e * e
	}
	return step, math.Sqrt(sum)
}

// largest is the largest magnitude in v.
func largest(v []float64) (largest float64) {
	for _, x := range v {
		largest = max(largest, math.Abs(x))
	}
	return largest
}

// norm is ‖v‖.
func norm(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x * x
	}
	return math.Sqrt(sum)
}

// underflow is η, a bound of the error that underflow causes in a score and in its approximation,
// for each unit of a query's norm. Each of k products and a few more operations loses at most
// 2^-149, and the norm of a query is at least shortest.
func underflow(k int, gain float64) float64 {
	return float64(k+16) * 0x1p-149 / shortest * max(gain, 1)
}

// up rounds to a float32 that is not smaller.
func up(v float64) float32 { return math.Nextafter32(float32(v*(1+0x1p-40)), float32(math.Inf(1))) }
