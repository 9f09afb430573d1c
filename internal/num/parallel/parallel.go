// Package parallel runs loops on all processors.
//
// # Conventions
//
// A loop is cut into parts. The cuts depend on the length of the loop only, never on the number of
// processors, and one call handles each part. So the result of a part is the same on any machine.
// So is a sum over parts, if the caller keeps one term for each part and adds the terms up in order
// afterwards.
//
// Parts are handed out one by one, in rising order, to min(GOMAXPROCS, parts) workers. The caller
// is one of them. Where parts differ in cost, the costly ones belong to the front. The functions
// return when all parts are done.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Strips calls do(lo, hi) for consecutive ranges that cover [0, n). Each has the length strip, the
// last one may be shorter. strip must be positive.
func Strips(n, strip int, do func(lo, hi int)) {
	Tasks((n+strip-1)/strip, func(i int) { do(i*strip, min((i+1)*strip, n)) })
}

// rowStrip is the strip of Rows: short enough to balance rows of different cost, long enough for
// the overhead to vanish.
const rowStrip = 128

// Rows is Strips for the rows of a matrix, which may differ in cost.
func Rows(rows int, do func(lo, hi int)) { Strips(rows, rowStrip, do) }

// Tasks calls do(0), …, do(n−1).
func Tasks(n int, do func(i int)) {
	TasksWith(n, func() func(i int) { return do })
}

// TasksWith is Tasks for parts that need scratch memory. Each worker calls newWorker once and
// handles its parts with the function returned, one after the other. The result of a part must not
// depend on the earlier parts of its worker.
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
