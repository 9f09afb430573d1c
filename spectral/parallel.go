package spectral

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// rowChunk is how many rows a worker takes at a time: small enough to even out
// rows of very different length, large enough that taking them costs nothing.
const rowChunk = 128

// parallelRows calls do(lo, hi) for consecutive ranges that cover [0, rows),
// on all processors. Each row is handled by one call, so results that depend
// on one row only are the same for any number of processors.
func parallelRows(rows int, do func(lo, hi int)) { parallelStrips(rows, rowChunk, do) }

// parallelStrips is parallelRows with ranges of the given length; the ranges
// do not depend on the number of processors either.
func parallelStrips(rows, strip int, do func(lo, hi int)) {
	workers := min(runtime.GOMAXPROCS(0), (rows+strip-1)/strip)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				lo := int(next.Add(int64(strip))) - strip
				if lo >= rows {
					return
				}
				do(lo, min(lo+strip, rows))
			}
		})
	}
	wg.Wait()
}
