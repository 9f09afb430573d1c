package gemm

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Sizes of the blocks, in elements. A panel of B, kc·nr, stays in the first
// cache while A's panels pass by; A's block, mc·kc, in the second; B's block,
// kc·nc, in the third. mc and nc are multiples of all mr and nr.
const (
	kc = 256
	mc = 240
	nc = 2048
)

const (
	// directColumns is the number of columns of B up to which A is not packed.
	directColumns = 96
	// serialWork is the m·n·k up to which one worker is faster than several.
	serialWork = 1 << 17
	// serialPack is the number of elements of B that one worker packs alone.
	serialPack = 1 << 14
)

// run does the product.
func (p *product[T]) run() {
	if p.m == 0 || p.n == 0 || p.k == 0 || p.alpha == 0 {
		return
	}
	workers := runtime.GOMAXPROCS(0)
	if p.m*p.n*p.k <= serialWork {
		workers = 1
	}
	nr := p.kern.nr
	panels := make([]T, min(p.k, kc)*roundUp(min(p.n, nc), nr))
	rows := p.blockRows(workers)
	for j := 0; j < p.n; j += nc {
		cols := min(nc, p.n-j)
		for l := 0; l < p.k; l += kc {
			k := min(kc, p.k-l)
			p.packB(panels, j, cols, l, k, workers)
			inParallel(workers, (p.m+rows-1)/rows, func(block int) {
				i := block * rows
				p.multiplyBlock(panels, i, min(rows, p.m-i), j, cols, l, k)
			})
		}
	}
}

// blockRows is how many rows of C a worker takes at a time: mc, or fewer if
// there would not be enough for all of them. It does not change the result.
func (p *product[T]) blockRows(workers int) int {
	if workers == 1 {
		return mc
	}
	return min(mc, roundUp((p.m+4*workers-1)/(4*workers), p.kern.mr))
}

// packB packs the block [l:l+k, j:j+cols] of op(B).
func (p *product[T]) packB(panels []T, j, cols, l, k, workers int) {
	chunk := 8 * p.kern.nr
	if cols*k <= serialPack {
		workers = 1
	}
	inParallel(workers, (cols+chunk-1)/chunk, func(part int) {
		at := part * chunk
		pack(panels[at*k:], p.b, j+at, min(chunk, cols-at), l, k, p.kern.nr)
	})
}

// multiplyBlock adds to C[i:i+rows, j:j+cols] the part of the product that
// belongs to [l:l+k] of the inner dimension.
func (p *product[T]) multiplyBlock(panels []T, i, rows, j, cols, l, k int) {
	if p.upper && j+cols <= i {
		return
	}
	w := worker[T]{product: p, panels: panels, j: j, cols: cols, l: l, k: k}
	mr := p.kern.mr
	if p.n <= directColumns {
		whole := rows - rows%mr
		for at := 0; at < whole; at += mr {
			a := p.a.data[(i+at)*p.a.outer+l*p.a.inner:]
			w.tileRow(a, p.a.outer, p.a.inner, i+at, mr)
		}
		i, rows = i+whole, rows-whole
	}
	if rows == 0 {
		return
	}
	packed := make([]T, roundUp(rows, mr)*k)
	pack(packed, p.a, i, rows, l, k, mr)
	for first := 0; first < cols; first += p.kern.nr {
		for at := 0; at < rows; at += mr {
			w.tile(packed[at*k:], 1, mr, first, i+at, min(mr, rows-at))
		}
	}
}

// worker holds what the tiles of one block have in common.
type worker[T Float] struct {
	*product[T]
	panels        []T
	j, cols, l, k int
	edge          []T // a whole tile that stands in for one at the edge of C
}

// tileRow does all tiles of the rows [i:i+height] with one panel of A.
func (w *worker[T]) tileRow(a []T, outer, inner, i, height int) {
	for first := 0; first < w.cols; first += w.kern.nr {
		w.tile(a, outer, inner, first, i, height)
	}
}

// tile does the tile of C whose upper left corner is row i and column first of
// the block. At an edge of C the kernel works on a copy, with the same bits.
func (w *worker[T]) tile(a []T, outer, inner, first, i, height int) {
	nr, j := w.kern.nr, w.j+first
	width := min(nr, w.cols-first)
	if w.upper && j+width <= i {
		return
	}
	b, c := w.panels[first*w.k:], w.c.Data[i*w.c.Stride+j:]
	if height == w.kern.mr && width == nr {
		w.kern.tile(w.k, w.alpha, a, outer, inner, b, c, w.c.Stride)
		return
	}
	if w.edge == nil {
		w.edge = make([]T, w.kern.mr*nr)
	}
	for r := range height {
		copy(w.edge[r*nr:(r+1)*nr], c[r*w.c.Stride:][:width])
	}
	w.kern.tile(w.k, w.alpha, a, outer, inner, b, w.edge, nr)
	for r := range height {
		copy(c[r*w.c.Stride:][:width], w.edge[r*nr:])
	}
}

func roundUp(x, multiple int) int { return (x + multiple - 1) / multiple * multiple }

// inParallel calls do(0), …, do(count-1) on the given number of workers.
func inParallel(workers, count int, do func(part int)) {
	if workers = min(workers, count); workers <= 1 {
		for part := range count {
			do(part)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for part := int(next.Add(1)) - 1; part < count; part = int(next.Add(1)) - 1 {
				do(part)
			}
		})
	}
	wg.Wait()
}
