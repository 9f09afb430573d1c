package vec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// rounded keeps the compiler from fusing operations: what goes through it has been rounded to
// float32.
func rounded(x float32) float32 { return math.Float32frombits(math.Float32bits(x)) }

// TestCollect compares with the documented operations, around equality with the floor, behind
// candidates that stay.
func TestCollect(t *testing.T) { eachKernel(t, testCollect) }

func testCollect(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, k := range []int{0, 8, 16, 24, 32, 40, 64, 128, 256, 504} {
		for trial := range 8 {
			h := randomDigits(rng, k)
			if trial%2 == 0 {
				for i := range h {
					h[i] %= SmallDigit + 1
				}
			}
			checkCollect(t, rng, h, trial%4 < 2)
		}
	}
}

func checkCollect(t *testing.T, rng *rand.Rand, h []int16, five bool) {
	t.Helper()
	block, numbers := randomBlock(t, rng, len(h), five)
	var q Digits
	q.Set(h)
	b := Bounds{
		Scale: guard(randomVector(rng, BlockRows)).in,
		Error: guard(randomVector(rng, BlockRows)).in,
		Step:  rng.Float32(), Norm: rng.Float32(), Margin: rng.Float32(),
	}
	interval := func(r int) (low, high float32) {
		d := int32(0)
		for j, c := range numbers[r] {
			d += int32(c) * int32(h[j])
		}
		score := rounded(rounded(float32(d)*b.Scale[r]) * b.Step)
		err := rounded(b.Error[r]*b.Norm) + b.Margin
		return score - err, score + err
	}
	_, one := interval(rng.IntN(BlockRows))
	for _, floor := range []float32{one, float32(math.Inf(-1)), float32(math.Inf(1)), 0} {
		got := randomCandidates(rng, rng.IntN(20))
		want := cloneCandidates(got)
		for r := range numbers {
			if low, high := interval(r); high >= floor {
				want.Place, want.Low, want.High = append(want.Place, int32(1000+r)),
					append(want.Low, low), append(want.High, high)
			}
		}
		next := block
		if rng.IntN(2) == 0 {
			next = nil
		}
		if five {
			b.CollectFiveBitsTo(&got, block, &q, floor, 1000, next)
		} else {
			b.CollectTo(&got, block, &q, floor, 1000, next)
		}
		check.MustSame(t, want, got, "k=%d five=%v floor %v", len(h), five, floor)
	}
}

// randomCandidates have few different bounds, so that some are equal to a floor.
func randomCandidates(rng *rand.Rand, n int) Candidates {
	c := Candidates{
		Place: make([]int32, n),
		Low:   guard(make([]float32, n)).in, High: guard(make([]float32, n)).in,
	}
	for j := range n {
		c.Place[j], c.Low[j], c.High[j] = rng.Int32(), float32(rng.IntN(20)), float32(rng.IntN(20))
	}
	return c
}

func cloneCandidates(c Candidates) Candidates {
	return Candidates{
		Place: slices.Clone(c.Place), Low: slices.Clone(c.Low), High: slices.Clone(c.High),
	}
}

// TestDropAndCount, at all lengths around those of registers.
func TestDropAndCount(t *testing.T) { eachKernel(t, testDropAndCount) }

func testDropAndCount(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for n := range 100 {
		for _, floor := range []float32{0, 10, 19, 20, float32(math.Inf(-1))} {
			c := randomCandidates(rng, n)
			want := Candidates{Place: []int32{}, Low: []float32{}, High: []float32{}}
			for j, high := range c.High {
				if high >= floor {
					want.Place, want.Low, want.High = append(want.Place, c.Place[j]),
						append(want.Low, c.Low[j]), append(want.High, high)
				}
			}
			if got := CountAtLeast(c.High, floor); got != want.Len() {
				t.Fatalf("n=%d floor %v: %d counted, want %d", n, floor, got, want.Len())
			}
			c.Drop(floor)
			check.MustSame(t, want, c, "n=%d floor %v", n, floor)
		}
	}
}
