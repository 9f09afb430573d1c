package vec

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"
)

// guardedBytes returns n bytes that end at a page that cannot be read.
func guardedBytes(t *testing.T, n int) []byte {
	t.Helper()
	page := unix.Getpagesize()
	size := (n+page-1)/page*page + page
	m, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(m) })
	if err := unix.Mprotect(m[size-page:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return m[size-page-n : size-page : size-page]
}

// randomDigits is a query with extreme values among its numbers.
func randomDigits(rng *rand.Rand, k int) []int16 {
	h := make([]int16, k)
	for i := range h {
		h[i] = int16(rng.IntN(2*MaxDigit+1) - MaxDigit)
		if rng.IntN(4) == 0 {
			h[i] = []int16{MaxDigit, -MaxDigit, 0, 127, 128, -128, -129, 255, 256}[rng.IntN(9)]
		}
	}
	return h
}

// TestDotsExact compares with sums in int64, at the guard of an unreadable page.
func TestDotsExact(t *testing.T) { eachKernel(t, testDotsExact) }

func testDotsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for _, k := range []int{0, 4, 8, 12, 16, 20, 28, 32, 36, 64, 124, 256, 500} {
		for trial := range 4 {
			block := guardedBytes(t, BlockBytes(k))
			h := randomDigits(rng, k)
			if trial >= 2 {
				for i := range h {
					h[i] %= SmallDigit + 1
				}
			}
			var want, got [BlockRows]int32
			for r := range want {
				c, sum := make([]int8, k), int64(0)
				for j := range c {
					c[j] = int8(rng.IntN(255) - 127)
					sum += int64(c[j]) * int64(h[j])
				}
				SetBlockRow(block, r, c)
				want[r], got[r] = int32(sum), int32(rng.Uint32()) // modulo 2^32, as int32 is
			}
			var q Digits
			q.Set(h)
			next := block
			if trial%2 == 0 {
				next = nil
			}
			DotsTo(&got, block, &q, next)
			if got != want {
				t.Fatalf("k=%d: %v, want %v", k, got, want)
			}
		}
	}
}

// TestDigits: the digits and the number say the same.
func TestDigits(t *testing.T) {
	var q Digits
	for h := -MaxDigit; h <= MaxDigit-3; h += 4 {
		q.Set([]int16{int16(h), int16(h + 1), int16(h + 2), int16(h + 3)})
		for j := range q.h {
			if got := 256*int(q.hi[j]) + int(q.lo[j]); got != h+j {
				t.Fatalf("digits of %d make %d", h+j, got)
			}
		}
	}
}

func TestBlockShapesPanic(t *testing.T) {
	var q Digits
	q.Set(make([]int16, 8))
	var d [BlockRows]int32
	for name, f := range map[string]func(){
		"digits":      func() { q.Set(make([]int16, 6)) },
		"short block": func() { DotsTo(&d, make([]byte, 8*128-1), &q, nil) },
		"next block":  func() { DotsTo(&d, make([]byte, 8*128), &q, make([]byte, 8*128-1)) },
		"long block":  func() { DotsTo(&d, make([]byte, 8*128+1), &q, nil) },
		"short scale": func() {
			(&Bounds{Scale: make([]float32, 127), Error: make([]float32, 128)}).CollectTo(new(Candidates), &d, 0, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

func BenchmarkDotsTo(b *testing.B) {
	for _, n := range []int{20_000, 200_000} {
		for _, k := range []int{64, 256} {
			b.Run(fmt.Sprintf("n=%d/k=%d", n, k), func(b *testing.B) {
				count, size := (n+BlockRows-1)/BlockRows, BlockBytes(k)
				blocks := make([]byte, count*size)
				var q Digits
				q.Set(randomDigits(rand.New(rand.NewPCG(8, 8)), k))
				var d [BlockRows]int32
				b.SetBytes(int64(len(blocks)))
				for b.Loop() {
					for at := 0; at < len(blocks); at += size {
						DotsTo(&d, blocks[at:at+size], &q, blocks[(at+size)%len(blocks):][:size])
					}
				}
			})
		}
	}
}
