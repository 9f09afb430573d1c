package gemm

import "fmt"

// Float is the type of an element.
type Float interface{ float32 | float64 }

// Matrix is a row-major matrix or a block of one.
type Matrix[T Float] struct {
	Rows, Cols int
	Data       []T
	Stride     int // elements from one row to the next, at least Cols
}

// Form tells whether an operand is transposed.
type Form bool

// The forms of an operand.
const (
	Plain      Form = false
	Transposed Form = true
)

// MulAdd sets C += alpha·op(A)·op(B), where op(A) is m×k, op(B) k×n and C m×n.
// m, n and k may be 0. The work is 2·m·n·k operations.
func MulAdd[T Float](c Matrix[T], alpha T, formA Form, a Matrix[T], formB Form, b Matrix[T]) {
	p := newProduct(c, alpha, formA, a, formB, b)
	p.run()
}

// SyrkT sets C += alpha·AᵀA for a symmetric C. Only the upper triangle of C is
// read; the lower one is overwritten with its mirror image. It takes half of the
// work of MulAdd and gives the same bits.
func SyrkT[T Float](c Matrix[T], alpha T, a Matrix[T]) {
	MulAddUpper(c, alpha, Transposed, a, Plain, a)
	mirror(c)
}

// MulAddUpper is MulAdd for the upper triangle of a square C, diagonal included. It
// takes about half of the work. The part below the diagonal is undefined afterwards.
func MulAddUpper[T Float](c Matrix[T], alpha T, formA Form, a Matrix[T], formB Form, b Matrix[T]) {
	if c.Rows != c.Cols {
		panic(fmt.Sprintf("gemm: triangle of a %d×%d matrix", c.Rows, c.Cols))
	}
	p := newProduct(c, alpha, formA, a, formB, b)
	p.upper = true
	p.run()
}

// mirrorTile is the edge of the squares that mirror copies. Squares keep both the
// reads and the writes in the cache.
const mirrorTile = 32

// mirror copies the upper triangle of c to the lower one.
func mirror[T Float](c Matrix[T]) {
	for i0 := 0; i0 < c.Rows; i0 += mirrorTile {
		for j0 := i0; j0 < c.Cols; j0 += mirrorTile {
			for i := i0; i < min(i0+mirrorTile, c.Rows); i++ {
				for j := max(j0, i+1); j < min(j0+mirrorTile, c.Cols); j++ {
					c.Data[j*c.Stride+i] = c.Data[i*c.Stride+j]
				}
			}
		}
	}
}

// An operand is a matrix of any form: element (i, l) is data[i*outer+l*inner]. The
// product sums over l.
type operand[T Float] struct {
	data         []T
	outer, inner int
}

// product is C += alpha·A·B with the shapes checked and the forms resolved.
type product[T Float] struct {
	kern    *kernel[T]
	c       Matrix[T]
	alpha   T
	a, b    operand[T] // of op(A) and of op(B)ᵀ
	m, n, k int
	upper   bool // leave out tiles below the diagonal
	serial  bool // too small for more than one worker
}

func newProduct[T Float](
	c Matrix[T], alpha T, formA Form, a Matrix[T], formB Form, b Matrix[T],
) *product[T] {
	check("A", a)
	check("B", b)
	check("C", c)
	p := &product[T]{kern: inUse[T](), c: c, alpha: alpha, m: a.Rows, n: b.Cols, k: a.Cols}
	p.a = operand[T]{data: a.Data, outer: a.Stride, inner: 1}
	p.b = operand[T]{data: b.Data, outer: 1, inner: b.Stride}
	inner := b.Rows
	if formA == Transposed {
		p.m, p.k = p.k, p.m
		p.a.outer, p.a.inner = p.a.inner, p.a.outer
	}
	if formB == Transposed {
		p.n, inner = inner, p.n
		p.b.outer, p.b.inner = p.b.inner, p.b.outer
	}
	if inner != p.k || c.Rows != p.m || c.Cols != p.n {
		panic(fmt.Sprintf("gemm: %d×%d matrix += %d×%d by %d×%d",
			c.Rows, c.Cols, p.m, p.k, inner, p.n))
	}
	return p
}

func check[T Float](name string, a Matrix[T]) {
	if a.Rows < 0 || a.Cols < 0 || a.Stride < a.Cols {
		panic(fmt.Sprintf("gemm: %s is %d×%d with a stride of %d", name, a.Rows, a.Cols, a.Stride))
	}
	if a.Rows > 0 && a.Cols > 0 && len(a.Data) < (a.Rows-1)*a.Stride+a.Cols {
		panic(fmt.Sprintf("gemm: %s is %d×%d with a stride of %d, but has %d elements",
			name, a.Rows, a.Cols, a.Stride, len(a.Data)))
	}
}
