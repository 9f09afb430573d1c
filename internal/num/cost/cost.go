// Package cost counts the work of the stages of a long computation, so that its time and memory are
// known before it starts.
//
// A package computes the work of its stages from the shapes of its input, in the units of this
// package. Nothing is measured here: the speed of a machine is found elsewhere. Speeds are those of
// all processors together.
package cost

// Unit is a kind of work. Each is counted in the quantity of its comment.
type Unit int

// The units.
const (
	// float32 operations in matrix products; a multiplication with its addition counts as two
	Single  Unit = iota
	Double       // float64 operations in matrix products, counted alike
	Stream       // bytes read or written in order, in memory
	Gather       // rows of 128 bytes of a large table, read and written back in random order
	Scatter      // additions to numbers at random places of a table that fits the caches
	Divide       // steps of scalar recursions, each with a division
	Hash         // bytes that are hashed, on one processor
	NumUnits
)

// Work is an amount of each unit.
type Work [NumUnits]float64

// Speed is the amount of each unit that is done in a second.
type Speed [NumUnits]float64

// Typical is the speed of one processor of a machine of 2025. It serves where only the ratios of
// stages matter; the speed of the actual machine is measured while it works.
var Typical = Speed{
	Single: 60e9, Double: 27e9, Stream: 15e9, Gather: 60e6, Scatter: 1.2e9,
	Divide: 150e6, Hash: 1.5e9,
}

// Seconds returns the time that the work takes, one unit after the other.
func (s *Speed) Seconds(w Work) float64 {
	sum := 0.0
	for unit, amount := range w {
		if amount > 0 {
			sum += amount / s[unit]
		}
	}
	return sum
}

// Stage is a part of a computation.
type Stage struct {
	Name string
	Work Work
	Peak float64 // largest number of bytes held while it runs, beside the bytes held before
	Kept float64 // change of the bytes held, from its begin to its end
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
