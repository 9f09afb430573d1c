package vec

import (
	"math/bits"
	"slices"
)

// Candidates are rows with intervals that contain their scores. Candidate j is row Place[j] with
// the interval from Low[j] to High[j].
type Candidates struct {
	Place     []int32
	Low, High []float32
}

// Len returns the number of candidates.
func (c *Candidates) Len() int { return len(c.Place) }

// Truncate keeps the first n candidates.
func (c *Candidates) Truncate(n int) { c.Place, c.Low, c.High = c.Place[:n], c.Low[:n], c.High[:n] }

// Append adds a candidate.
func (c *Candidates) Append(place int32, low, high float32) {
	c.Place, c.Low, c.High = append(c.Place, place), append(c.Low, low), append(c.High, high)
}

// Move puts candidate from at the place to.
func (c *Candidates) Move(to, from int) {
	c.Place[to], c.Low[to], c.High[to] = c.Place[from], c.Low[from], c.High[from]
}

// Drop keeps the candidates whose High is at least floor, in their order.
func (c *Candidates) Drop(floor float32) { c.Truncate(inUse.drop(c, floor)) }

// Bounds are intervals that contain the scores of the rows of a block. d[r] is the dot product of
// row r with a query of integers:
//
//	float32(d[r]) · Scale[r] · Step ± (Error[r] · Norm + Margin)
//
// Each operation is rounded to float32, from left to right, parentheses first. d is exact as long
// as its magnitude is below 2^31.
type Bounds struct {
	Scale, Error       []float32 // BlockRows each
	Step, Norm, Margin float32
}

// CollectTo appends to c the rows of a block of bytes whose upper bounds are at least floor, by
// rising row. The place of row r is first + r. next is nil or the block of the same size that will
// be read next; the kernel may fetch it into the caches meanwhile.
func (b *Bounds) CollectTo(
	c *Candidates, block []byte, q *Digits, floor float32, first int32, next []byte,
) {
	b.check(c, block, BlockBytes(len(q.h)), next)
	c.Truncate(len(c.Place) + inUse.collect(c, block, q, b, floor, first, next))
}

// CollectFiveBitsTo is CollectTo for a block of five bits.
func (b *Bounds) CollectFiveBitsTo(
	c *Candidates, block []byte, q *Digits, floor float32, first int32, next []byte,
) {
	b.check(c, block, FiveBitBlockBytes(len(q.h)), next)
	collect := inUse.collectFive
	if collect == nil {
		collect = generic.collectFive
	}
	c.Truncate(len(c.Place) + collect(c, block, q, b, floor, first, next))
}

// check checks the lengths, and makes room for a block's rows.
func (b *Bounds) check(c *Candidates, block []byte, size int, next []byte) {
	if len(block) != size || next != nil && len(next) != size {
		panic("vec: a block of another width than the query's")
	}
	if len(b.Scale) < BlockRows || len(b.Error) < BlockRows {
		panic("vec: Bounds of less than a block")
	}
	if n := len(c.Place) + BlockRows; n > cap(c.Place) || n > cap(c.Low) || n > cap(c.High) {
		c.Place, c.Low = slices.Grow(c.Place, BlockRows), slices.Grow(c.Low, BlockRows)
		c.High = slices.Grow(c.High, BlockRows)
	}
}

// at returns the approximate score of row r with dot product d, and a bound of its error.
func (b *Bounds) at(r int, d int32) (score, err float32) {
	return float32(float32(float32(d)*b.Scale[r]) * b.Step), float32(b.Error[r]*b.Norm) + b.Margin
}

// CountAtLeast returns the number of elements of v that are at least floor.
func CountAtLeast(v []float32, floor float32) int { return inUse.count(v, floor) }

// collectDots returns a collector on top of a kernel that computes dot products only.
func collectDots(dots func(d *[BlockRows]int32, block []byte, q *Digits)) collector {
	return func(
		c *Candidates, block []byte, q *Digits, b *Bounds, floor float32, first int32, _ []byte,
	) int {
		var d [BlockRows]int32
		dots(&d, block, q)
		n := len(c.Place)
		place, low, high := c.Place[:n+BlockRows], c.Low[:n+BlockRows], c.High[:n+BlockRows]
		for r, x := range d {
			if score, err := b.at(r, x); score+err >= floor {
				place[n], low[n], high[n] = first+int32(r), score-err, score+err
				n++
			}
		}
		return n - len(c.Place)
	}
}

// collectMasked is collectDots for a kernel that also compares with the floor: reach sets bit
// r mod 16 of masks[r/16] for each row r whose upper bound is at least floor, and returns false if
// there is none.
func collectMasked(
	dots func(d *[BlockRows]int32, block []byte, q *Digits, next []byte),
	reach func(masks *[masksOfBlock]uint16, d *[BlockRows]int32, b *Bounds, floor float32) bool,
) collector {
	return func(
		c *Candidates, block []byte, q *Digits, b *Bounds, floor float32, first int32, next []byte,
	) int {
		var d [BlockRows]int32
		var masks [masksOfBlock]uint16
		dots(&d, block, q, next)
		if !reach(&masks, &d, b, floor) {
			return 0
		}
		n := len(c.Place)
		place, low, high := c.Place[:n+BlockRows], c.Low[:n+BlockRows], c.High[:n+BlockRows]
		for p, m := range masks {
			for ; m != 0; m &= m - 1 {
				r := p*maskRows + bits.TrailingZeros16(m)
				score, err := b.at(r, d[r])
				place[n], low[n], high[n] = first+int32(r), score-err, score+err
				n++
			}
		}
		return n - len(c.Place)
	}
}

const (
	maskRows     = 16 // rows in one mask
	masksOfBlock = BlockRows / maskRows
)

func dropGeneric(c *Candidates, floor float32) int {
	left := 0
	for j, high := range c.High {
		c.Move(left, j)
		if high >= floor {
			left++
		}
	}
	return left
}

func countGeneric(v []float32, floor float32) int {
	n := 0
	for _, x := range v {
		if x >= floor {
			n++
		}
	}
	return n
}
