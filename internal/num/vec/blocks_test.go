package vec

import (
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gsimc/gsimc/internal/test/check"
)

// guardedBytes returns n bytes that end at a page that cannot be read.
func guardedBytes(t *testing.T, n int) []byte {
	t.Helper()
	page := unix.Getpagesize()
	size := (n+page-1)/page*page + page
	m, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	check.Must(t, err)
	t.Cleanup(func() { _ = unix.Munmap(m) })
	check.Must(t, unix.Mprotect(m[size-page:], unix.PROT_NONE))
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

// randomBlock makes a block of either form, at the guard of an unreadable page, and its numbers.
func randomBlock(
	t *testing.T, rng *rand.Rand, k int, five bool,
) (block []byte, numbers [BlockRows][]int8) {
	if five {
		block = guardedBytes(t, FiveBitBlockBytes(k))
	} else {
		block = guardedBytes(t, BlockBytes(k))
	}
	for r := range numbers {
		c, b := make([]int8, k), make([]uint8, k)
		for j := range c {
			c[j] = int8(rng.IntN(255) - 127)
			if five {
				b[j] = uint8(rng.IntN(32))
				c[j] = int8(2*int(b[j]) - 31)
			}
		}
		if five {
			SetFiveBitRow(block, r, b)
		} else {
			SetBlockRow(block, r, c)
		}
		numbers[r] = c
	}
	return block, numbers
}

// TestDigits: the digits and the number say the same.
func TestDigits(t *testing.T) {
	var q Digits
	for h := -MaxDigit; h <= MaxDigit-7; h += 8 {
		numbers := make([]int16, 8)
		for j := range numbers {
			numbers[j] = int16(h + j)
		}
		q.Set(numbers)
		for j := range q.h {
			if got := 256*int(q.hi[j]) + int(q.lo[j]); got != h+j {
				t.Fatalf("digits of %d make %d", h+j, got)
			}
		}
	}
}
