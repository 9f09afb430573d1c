package vec

import "fmt"

// Rows of int8 numbers are kept in blocks of BlockRows rows, four columns of all rows after the other: number c of row r and
// column j is the byte
//
//	block[(j/4)·4·BlockRows + 4r + j mod 4] = c + 128
//
// so that a vector register holds four columns of several rows, the sums of the rows stand side by side, and memory is read
// from front to back. The number of columns is a multiple of four; zeros, stored as 128, fill it up.
const (
	BlockRows = 128

	columnGroup = 4 // columns that stand together
	groupBytes  = columnGroup * BlockRows
)

// BlockBytes is the size of a block with the given number of columns, a multiple of four.
func BlockBytes(columns int) int { return columns * BlockRows }

// SetBlockRow writes row r of a block: the int8 numbers c, whose length is the number of columns.
func SetBlockRow(block []byte, r int, c []int8) {
	at := columnGroup * r
	for j := 0; j < len(c); j += columnGroup {
		to, from := block[at:at+columnGroup:at+columnGroup], c[j:j+columnGroup:j+columnGroup]
		to[0], to[1], to[2], to[3] = byte(from[0])^0x80, byte(from[1])^0x80, byte(from[2])^0x80, byte(from[3])^0x80
		at += groupBytes
	}
}

// MaxDigit is the largest magnitude of a Digits' number: h = 256·hi + lo with two int8 digits. A query whose numbers are at most
// SmallDigit has one digit only.
const (
	MaxDigit   = 127 << 8
	SmallDigit = 127
)

// Digits is an int16 query for blocks, in the forms that the kernels want it in.
type Digits struct {
	h      []int16 // a multiple of four
	hi, lo []int8  // h = 256·hi + lo
	bias   int32   // −128 Σ h: makes up for the 128 that stands in each byte of a block
	small  bool    // hi is zero
}

// Set makes q the query h, whose magnitudes are at most MaxDigit and whose length is a multiple of four. It keeps h.
func (q *Digits) Set(h []int16) {
	if len(h)%columnGroup != 0 {
		panic(fmt.Sprintf("vec: a query of %d digits, want a multiple of %d", len(h), columnGroup))
	}
	if cap(q.hi) < len(h) {
		q.hi, q.lo = make([]int8, len(h)), make([]int8, len(h))
	}
	q.h, q.hi, q.lo = h, q.hi[:len(h)], q.lo[:len(h)]
	q.small = true
	sum := int32(0)
	for j, x := range h {
		hi := (int32(x) + 128) >> 8
		q.hi[j], q.lo[j] = int8(hi), int8(int32(x)-hi<<8)
		q.small = q.small && hi == 0
		sum += int32(x)
	}
	q.bias = -128 * sum
}

// DotsTo stores in d the dot products of the rows of a block with q. They are exact as long as they are below 2^31. next is a
// block of the same size that will be wanted soon, which the kernel may fetch into the caches meanwhile, or nil.
func DotsTo(d *[BlockRows]int32, block []byte, q *Digits, next []byte) {
	if len(block) != BlockBytes(len(q.h)) || next != nil && len(next) != len(block) {
		panic("vec: DotsTo of a block of another width than the query's")
	}
	if q.small {
		inUse.smallDots(d, block, q, next)
		return
	}
	inUse.dots(d, block, q, next)
}

// SmallDigitsFaster tells whether the kernel in use is faster with queries of one digit.
func SmallDigitsFaster() bool { return inUse.smallFaster }

// QuantisedScans tells whether the kernel in use goes over int8 rows faster than over float32 rows.
func QuantisedScans() bool { return inUse.quantised }

func dotsGeneric(d *[BlockRows]int32, block []byte, q *Digits, _ []byte) {
	for r := range d {
		sum, at := q.bias, columnGroup*r
		for j := 0; j < len(q.h); j += columnGroup {
			h, c := q.h[j:j+columnGroup:j+columnGroup], block[at:at+columnGroup:at+columnGroup]
			sum += int32(h[0])*int32(c[0]) + int32(h[1])*int32(c[1]) + int32(h[2])*int32(c[2]) + int32(h[3])*int32(c[3])
			at += groupBytes
		}
		d[r] = sum
	}
}
