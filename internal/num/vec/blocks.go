package vec

import "fmt"

// Rows of small integers are kept in blocks of BlockRows rows. A block holds a group of columns of
// all rows, then the next group. So a vector register holds the same columns of several rows, the
// sums of the rows stand side by side, and memory is read from front to back. The number of columns
// is a multiple of eight. Columns added to reach it may hold any numbers: a query has zeros there.
// There are two forms.
//
// A block of bytes has numbers from −127 to 127. Number c of row r and column j is the byte
//
//	block[(j/4)·512 + 4r + j mod 4] = c + 128
//
// A block of five bits has odd numbers from −31 to 31: c = 2b − 31, with b from 0 to 31. It has 640
// bytes for each eight columns, which begin at g = (j/8)·640. The four high bits of b take half a
// byte: the low half for the first four columns, the high half for the others. The lowest bits
// follow, those of eight rows in a byte:
//
//	block[g + 4r + j mod 4] holds b >> 1, and b mod 2 is
//	bit r/16 of block[g + 512 + 64·(j mod 8 / 4) + 4·(r mod 16) + j mod 4]
const (
	BlockRows = 128

	columnGroup = 4 // columns in a group
	groupBytes  = columnGroup * BlockRows
	fiveBytes   = groupBytes + 2*groupBytes/8 // of eight columns in five bits
)

// BlockBytes is the size of a block of bytes with the given number of columns, a multiple of eight.
func BlockBytes(columns int) int { return columns * BlockRows }

// FiveBitBlockBytes is the size of a block of five bits.
func FiveBitBlockBytes(columns int) int { return columns / 8 * fiveBytes }

// SetBlockRow writes row r of a block of bytes: the numbers c, whose length is the number of
// columns.
func SetBlockRow(block []byte, r int, c []int8) {
	at := columnGroup * r
	for j := 0; j < len(c); j += columnGroup {
		to, from := block[at:at+columnGroup:at+columnGroup], c[j:j+columnGroup:j+columnGroup]
		to[0], to[1] = byte(from[0])^0x80, byte(from[1])^0x80
		to[2], to[3] = byte(from[2])^0x80, byte(from[3])^0x80
		at += groupBytes
	}
}

// CopyBlockRow copies row s of the block from to row r of the block to, of as many columns.
func CopyBlockRow(to []byte, r int, from []byte, s int) {
	for at := 0; at < len(to); at += groupBytes {
		copy(to[at+columnGroup*r:][:columnGroup], from[at+columnGroup*s:][:columnGroup])
	}
}

// CopyFiveBitRow is CopyBlockRow for blocks of five bits. The row must be zero before.
func CopyFiveBitRow(to []byte, r int, from []byte, s int) {
	for j := range len(to) / fiveBytes * 8 {
		half, low := fivePlaces(s, j)
		toHalf, toLow := fivePlaces(r, j)
		if j%8 < columnGroup {
			to[toHalf] = from[half] // the numbers of two columns
		}
		to[toLow] |= from[low] >> (s / 16) & 1 << (r / 16)
	}
}

// SetFiveBitRow writes row r of a block of five bits: the b of the numbers, one for each column.
// The row must be zero before.
func SetFiveBitRow(block []byte, r int, b []uint8) {
	for j, x := range b {
		half, low := fivePlaces(r, j)
		block[half] |= x >> 1 << (j % 8 / columnGroup * 4)
		block[low] |= x & 1 << (r / 16)
	}
}

// fivePlaces returns the indices of the bytes with the high bits and with the lowest bit of the
// number in row r and column j.
func fivePlaces(r, j int) (half, low int) {
	g := j / 8 * fiveBytes
	half = g + columnGroup*r + j%columnGroup
	low = g + groupBytes + 64*(j%8/columnGroup) + columnGroup*(r%16) + j%columnGroup
	return half, low
}

// MaxDigit is the largest magnitude of a Digits' number: h = 256·hi + lo with two int8 digits. A
// query whose numbers are at most SmallDigit has one digit only.
const (
	MaxDigit   = 127 << 8
	SmallDigit = 127
)

// Digits is an int16 query for blocks, in the forms that the kernels read.
type Digits struct {
	h      []int16 // a multiple of eight
	hi, lo []int8  // h = 256·hi + lo
	sum    int32   // Σ h, to correct for the shift of the numbers in a block
	small  bool    // hi is zero
}

// Set makes q the query h, whose magnitudes are at most MaxDigit and whose length is a multiple of
// eight. It keeps h.
func (q *Digits) Set(h []int16) {
	if len(h)%8 != 0 {
		panic(fmt.Sprintf("vec: a query of %d digits, want a multiple of 8", len(h)))
	}
	if cap(q.hi) < len(h) {
		q.hi, q.lo = make([]int8, len(h)), make([]int8, len(h))
	}
	q.h, q.hi, q.lo = h, q.hi[:len(h)], q.lo[:len(h)]
	q.small, q.sum = true, 0
	for j, x := range h {
		hi := (int32(x) + 128) >> 8
		q.hi[j], q.lo[j] = int8(hi), int8(int32(x)-hi<<8)
		q.small = q.small && hi == 0
		q.sum += int32(x)
	}
}

// QuantisedScans reports whether the kernel in use reads int8 rows faster than over float32 rows.
func QuantisedScans() bool { return inUse.quantised }

// SmallDigitsFaster reports whether the kernel in use is faster with queries of one digit.
func SmallDigitsFaster() bool { return inUse.smallFaster }

// FiveBitsFaster reports whether the kernel in use processes rows of five bits as fast as memory
// delivers them.
func FiveBitsFaster() bool { return inUse.collectFive != nil }

func dotsGeneric(d *[BlockRows]int32, block []byte, q *Digits) {
	for r := range d {
		sum, at := -128*q.sum, columnGroup*r
		for j := 0; j < len(q.h); j += columnGroup {
			h, c := q.h[j:j+columnGroup:j+columnGroup], block[at:at+columnGroup:at+columnGroup]
			sum += int32(h[0])*int32(c[0]) + int32(h[1])*int32(c[1]) +
				int32(h[2])*int32(c[2]) + int32(h[3])*int32(c[3])
			at += groupBytes
		}
		d[r] = sum
	}
}

func fiveDotsGeneric(d *[BlockRows]int32, block []byte, q *Digits) {
	for r := range d {
		sum := -31 * q.sum
		for j, h := range q.h {
			half, low := fivePlaces(r, j)
			b := block[half]>>(j%8/columnGroup*4)&15<<1 | block[low]>>(r/16)&1
			sum += 2 * int32(h) * int32(b)
		}
		d[r] = sum
	}
}
