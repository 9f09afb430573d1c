package dataset

import (
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// A flat column has the first values of its chunks.
func TestFlatten(t *testing.T) {
	for _, n := range []int{0, 1, chunkRows, chunkRows + 1, 3*chunkRows - 1, 3 * chunkRows} {
		var chunks chunked[uint16]
		var all []uint16
		for c := range 3 {
			chunks = append(chunks, make([]uint16, chunkRows))
			for i := range chunks[c] {
				chunks[c][i] = uint16(3*i + c)
			}
			all = append(all, chunks[c]...)
		}
		check.Same(t, all[:n], flatten(&chunks, n), "%d values", n)
		check.Same(t, chunked[uint16](nil), chunks, "the chunks after it")
	}
	var none chunked[int64]
	check.Same(t, []int64(nil), flatten(&none, 5), "values of no chunks")
}
