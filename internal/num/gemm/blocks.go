package gemm

import (
	"runtime"
	"sync"
	"unsafe"

	"github.com/gsimc/gsimc/internal/num/parallel"
)

// Sizes of the blocks, in elements. A panel of B, kc·nr, fits the first-level cache,
// a block of A the second-level cache, and the packed blocks of B the third. nc is a
// multiple of every nr. kc decides on the bits of a result; the other sizes do not.
const (
	kc = 256
	nc = 2048
)

const (
	// blockBytes is the size of A's block.
	blockBytes = 480 << 10
	// panelBytes bounds the packed panels of B. With more steps of the inner dimension
	// packed at once, the workers wait for each other less often.
	panelBytes = 8 << 20
	// directColumns is the number of columns of B up to which A is not packed.
	directColumns = 96
	// serialWork is the m·n·k up to which one worker is faster than several.
	serialWork = 1 << 17
)

// run does the product.
func (p *product[T]) run() {
	if p.m == 0 || p.n == 0 || p.k == 0 || p.alpha == 0 {
		return
	}
	p.serial = p.m*p.n*p.k <= serialWork
	var zero T
	size := int(unsafe.Sizeof(zero))
	width := roundUp(min(p.n, nc), p.kern.nr)
	depth := min(p.k, max(1, panelBytes/size/(width*kc))*kc)
	pool := &buffersOf[T]().panels
	panels := borrow[T](pool, depth*width)
	defer pool.Put(panels)
	for j := 0; j < p.n; j += nc {
		for l := 0; l < p.k; l += depth {
			part := &part[T]{
				product: p, panels: *panels, j: j, cols: min(nc, p.n-j), l: l, k: min(depth, p.k-l),
			}
			part.width = roundUp(part.cols, p.kern.nr)
			part.packB()
			p.strips(p.m, p.stripRows(blockBytes/size/kc), part.multiply)
		}
	}
}

// strips is parallel.Strips, or a plain loop for a small product.
func (p *product[T]) strips(n, strip int, do func(lo, hi int)) {
	if !p.serial {
		parallel.Strips(n, strip, do)
		return
	}
	for lo := 0; lo < n; lo += strip {
		do(lo, min(lo+strip, n))
	}
}

// stripRows returns the number of rows of C that a worker takes at a time: about
// limit, or fewer, so that every worker gets at least four strips of about equal
// size. It does not change the result.
func (p *product[T]) stripRows(limit int) int {
	if p.serial {
		return limit
	}
	workers := runtime.GOMAXPROCS(0)
	strips := roundUp(max((p.m+limit-1)/limit, 4*workers), workers)
	return roundUp((p.m+strips-1)/strips, p.kern.mr)
}

// A part of a product is the sum over the steps [l:l+k] of the inner dimension for
// C's columns [j:j+cols]. B's part is packed in blocks of kc steps: the block that
// begins with step l+at is panels[at*width:], where width is cols rounded up to
// whole panels.
type part[T Float] struct {
	*product[T]
	panels      []T
	j, cols     int
	l, k, width int
}

// packB packs B's part.
func (p *part[T]) packB() {
	chunk := 8 * p.kern.nr
	chunks := (p.cols + chunk - 1) / chunk
	p.strips((p.k+kc-1)/kc*chunks, 1, func(i, _ int) {
		from, at := i/chunks*kc, i%chunks*chunk
		k := min(kc, p.k-from)
		pack(p.panels[from*p.width+at*k:], p.b, p.j+at, min(chunk, p.cols-at),
			p.l+from, k, p.kern.nr)
	})
}

// multiply adds the part to the rows [lo:hi] of C.
func (p *part[T]) multiply(lo, hi int) {
	if p.upper && p.j+p.cols <= lo {
		return
	}
	w := worker[T]{part: p, lo: lo, direct: lo, hi: hi}
	if p.n <= directColumns {
		w.direct = hi - (hi-lo)%p.kern.mr
	}
	pool := &buffersOf[T]().blocks
	packed := borrow[T](pool, roundUp(hi-w.direct, p.kern.mr)*(kc+rowGap))
	defer pool.Put(packed)
	for at := 0; at < p.k; at += kc {
		w.l, w.steps = p.l+at, min(kc, p.k-at)
		w.b = p.panels[at*p.width:]
		w.inPlace()
		w.packed(*packed)
	}
}

// A worker multiplies the rows [lo:hi] with the blocks of B, one after the other. It
// reads the rows [lo:direct] of A in place and packs the rows [direct:hi].
type worker[T Float] struct {
	*part[T]
	lo, direct, hi int
	l, steps       int // the block's place in the inner dimension
	b              []T // the block's panels
	next           ahead[T]
	edge           []T // a whole tile, in place of one at the edge of C
}

// inPlace multiplies the rows [lo:direct].
func (w *worker[T]) inPlace() {
	mr, nr := w.kern.mr, w.kern.nr
	for i := w.lo; i < w.direct; i += mr {
		a := w.a.data[i*w.a.outer+w.l*w.a.inner:]
		w.next = w.a.from(min(i+mr, w.m-1), w.l)
		for first := 0; first < w.cols; first += nr {
			w.next.b = w.b[first*w.steps:]
			w.tile(a, w.a.outer, w.a.inner, first, i, mr)
		}
	}
}

// packed multiplies the rows [direct:hi]. During the first column of tiles the kernel
// prefetches the rows of A that the next block packs; in later columns it prefetches
// the next panel of A. With each tile it also prefetches some rows of B's next panel.
func (w *worker[T]) packed(block []T) {
	if w.direct == w.hi {
		return
	}
	mr, nr := w.kern.mr, w.kern.nr
	outer, inner := packA(block, w.a, w.direct, w.hi-w.direct, w.l, w.steps, mr)
	size := mr * outer // of a panel
	if inner != 1 {
		size = w.steps * inner
	}
	for first := 0; first < w.cols; first += nr {
		b := w.b[min(first+nr, w.width-nr)*w.steps:][:nr*w.steps]
		for at, i := 0, w.direct; i < w.hi; at, i = at+1, i+mr {
			if first == 0 {
				w.next = w.a.from(i, min(w.l+kc, w.product.k-1))
			} else {
				w.next = operand[T]{block, outer, inner}.from(0, 0)
				w.next.a = block[min((at+1)*size, len(block)):]
			}
			w.next.b = b[min(at*fetchSteps*nr, len(b)-1):]
			w.tile(block[at*size:], outer, inner, first, i, min(mr, w.hi-i))
		}
	}
}

// fetchSteps is the number of steps of a block, and of rows of B's panel, that a kernel
// prefetches.
const fetchSteps = 16

// from is the ahead structure for the panel of A that begins at row i and step l.
func (x operand[T]) from(i, l int) ahead[T] {
	a := x.data[i*x.outer+l*x.inner:]
	if x.inner == 1 {
		return ahead[T]{a: a, step: fetchSteps, jump: x.outer - kc}
	}
	return ahead[T]{a: a, step: x.inner}
}

// tile updates the tile of C whose upper left corner is row i and column first of
// the part. At an edge of C the kernel works on a copy, with the same bits.
func (w *worker[T]) tile(a []T, outer, inner, first, i, height int) {
	nr, j := w.kern.nr, w.j+first
	width := min(nr, w.cols-first)
	if w.upper && j+width <= i {
		return
	}
	b, c := w.b[first*w.steps:], w.c.Data[i*w.c.Stride+j:]
	if height == w.kern.mr && width == nr {
		w.kern.tile(w.steps, w.alpha, a, outer, inner, b, c, w.c.Stride, &w.next)
		return
	}
	if w.edge == nil {
		w.edge = make([]T, w.kern.mr*nr)
	}
	for r := range height {
		copy(w.edge[r*nr:(r+1)*nr], c[r*w.c.Stride:][:width])
	}
	w.kern.tile(w.steps, w.alpha, a, outer, inner, b, w.edge, nr, &w.next)
	for r := range height {
		copy(c[r*w.c.Stride:][:width], w.edge[r*nr:])
	}
}

func roundUp(x, multiple int) int { return (x + multiple - 1) / multiple * multiple }

// buffers are the pools of memory for packed operands of one element type. A loop
// of products then does not allocate and clear megabytes each time. Blocks of A are
// much smaller than panels of B, so each kind has a pool of its own.
type buffers struct{ blocks, panels sync.Pool }

var buffers32, buffers64 buffers

func buffersOf[T Float]() *buffers {
	if _, single := any(T(0)).(float32); single {
		return &buffers32
	}
	return &buffers64
}

// borrow takes a buffer of at least n elements from the pool. Its contents are
// undefined. The caller puts it back.
func borrow[T Float](pool *sync.Pool, n int) *[]T {
	if b, ok := pool.Get().(*[]T); ok && len(*b) >= n {
		return b
	}
	b := make([]T, n)
	return &b
}
