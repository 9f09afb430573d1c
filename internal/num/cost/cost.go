// Package cost counts the work of the stages of a long computation, so that its time and memory are
// known before it starts.
//
// A package computes the work of its stages from the shapes of its input, as seconds of one
// processor of a machine of 2025: each kind of work is divided by its speed there. Only the ratios
// of stages carry over to another machine; how much faster it is, is measured elsewhere.
package cost

// The speeds of one processor of a machine of 2025: the quantity of each comment in a second.
const (
	// float32 operations in matrix products; a multiplication with its addition counts as two
	Single  = 60e9
	Double  = 27e9  // float64 operations in matrix products, counted alike
	Stream  = 15e9  // bytes read or written in order, in memory
	Gather  = 60e6  // rows of 128 bytes of a large table, read and written back in random order
	Scatter = 1.2e9 // additions to numbers at random places of a table that fits the caches
	Divide  = 150e6 // steps of scalar recursions, each with a division
	Hash    = 1.5e9 // bytes that are hashed; more processors do not hash faster
)

// Stage is a part of a computation.
type Stage struct {
	Name    string
	Seconds float64 // of one processor of a machine of 2025
	Peak    float64 // largest number of bytes held while it runs, beside the bytes held before
	Kept    float64 // change of the bytes held, from its begin to its end
}

// Peak returns the largest number of bytes held while the stages run one after the other, and the
// index of the stage that holds them. base bytes are held before the first stage.
func Peak(base float64, stages []Stage) (bytes float64, at int) {
	held := base
	for i := range stages {
		if held+stages[i].Peak > bytes {
			bytes, at = held+stages[i].Peak, i
		}
		held += stages[i].Kept
	}
	return bytes, at
}
