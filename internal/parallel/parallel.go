// Package parallel runs loops on all processors.
//
// # Conventions
//
// A loop is cut into parts that depend on its length only, never on the number of processors, and
// each part is handled by one call. So a result that belongs to one part is the same on any
// machine; a sum over parts is so too if the caller keeps one term for each part and adds them up
// in order afterwards.
//
// The parts are handed out one by one, in rising order, to as many workers as GOMAXPROCS says
// (fewer if there are fewer parts), of which the caller is one: where parts differ in cost, the
// costly ones belong to the front. The functions return when all parts are done.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Strips calls do(lo, hi) for consecutive ranges of the given length, the last one perhaps shorter,
// that cover [0, n). strip must be positive.
func Strips(n, strip int, do func(lo, hi int)) {
	Tasks((n+strip-1)/strip, func(i int) { do(i*strip, min((i+1)*strip, n)) })
}

// rowStrip is the strip of Rows: short enough to even out rows of different cost, long enough that
// handing it out costs nothing.
const rowStrip = 128

// Rows is Strips for the rows of a matrix, which may differ in cost.
func Rows(rows int, do func(lo, hi int)) { Strips(rows, rowStrip, do) }

// Tasks calls do(0), …, do(n−1).
func Tasks(n int, do func(i int)) {
	TasksWith(n, func() func(i int) { return do })
}

// TasksWith is Tasks for parts that need memory to work in: newWorker is called once by each
// worker, and the function that it returns does that worker's parts, one after the other. What a
// part gives must not depend on the parts that the same worker did before.
func TasksWith(n int, newWorker func() (do func(i int))) {
	if n <= 0 {
		return
	}
	var next atomic.Int64
	work := func() {
		do := newWorker()
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			do(i)
		}
	}
	var others sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
}
