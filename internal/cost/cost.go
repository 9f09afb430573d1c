// Package cost states the work of the stages of a long computation, so that time and memory are known
// before it starts.
//
// A package states the work of its stages by the shapes of its input, in units of this package. It
// measures nothing: how fast a machine does each unit is found by a short calibration elsewhere.
// Speeds are those of all processors together.
package cost

// Unit is a kind of work.
type Unit int

// The units.
const (
	Single  Unit = iota // operations of float32 in products of matrices, two for a multiplication with its addition
	Double              // the same of float64
	Stream              // bytes read or written in order, in memory
	Gather              // rows of 128 bytes that are fetched from a large table at random, changed and put back
	Scatter             // additions to numbers at random places of a table that fits the caches
	Divide              // steps of scalar recursions, each with a division
	Hash                // bytes that are hashed, on one processor
	NumUnits
)

// Work is an amount of each unit.
type Work [NumUnits]float64

// Speed is how much of each unit is done in a second.
type Speed [NumUnits]float64

// Typical is the speed of one processor of a machine of 2025. It serves where only the ratios of
// stages matter: how fast the machine at hand is shows while it works.
var Typical = Speed{
	Single: 60e9, Double: 27e9, Stream: 15e9, Gather: 60e6, Scatter: 1.2e9, Divide: 150e6, Hash: 1.5e9,
}

// Seconds is the time that the work takes, one unit after the other.
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
	Peak float64 // bytes held at most while it runs, beside the memory held before
	Kept float64 // bytes of these that are held afterwards
}

// Peak is the largest amount of memory held in the stages, one after the other, when base bytes are
// held before, and the stage where that is.
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
