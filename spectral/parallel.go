package spectral

import "github.com/gsimc/gsimc/internal/parallel"

// rowChunk is how many rows a worker takes at a time: small enough to even out
// rows of very different length, large enough that taking them costs nothing.
const rowChunk = 128

// parallelRows calls do(lo, hi) for consecutive ranges that cover [0, rows),
// on all processors. Each row is handled by one call, so results that depend
// on one row only are the same for any number of processors.
func parallelRows(rows int, do func(lo, hi int)) { parallel.Strips(rows, rowChunk, do) }
