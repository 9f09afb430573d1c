// Package ceiling measures what the processor can do at best: how fast one core reads memory, and
// how many fused multiply-adds it completes. Measured times are compared with these limits, which
// nobody can beat.
//
// On processors other than amd64 with AVX2 the package knows no limit, and says so.
package ceiling

// block is what the load kernels read in one step, in bytes.
const block = 1024

// kernel is one way to reach the limits.
type kernel struct {
	name string
	load func(p []byte) // reads p once; len(p) is a multiple of block
	fma  [2]func(steps int)
	flop [2]int // operations of a step in float32 and float64
}

// Available reports whether the limits of this processor can be measured.
func Available() bool { return inUse.name != "" }

// Name says which instructions the limits are of; empty without any.
func Name() string { return inUse.name }

// Load reads every byte of p once, and does nothing with it. Up to block-1 bytes at the end are
// left out.
func Load(p []byte) {
	if p = p[:len(p)/block*block]; len(p) > 0 {
		inUse.load(p)
	}
}

// FMA32 computes fused multiply-adds of float32 in registers alone, and returns how many operations
// it did.
func FMA32(steps int) float64 {
	inUse.fma[0](steps)
	return float64(steps) * float64(inUse.flop[0])
}

// FMA64 is FMA32 of float64.
func FMA64(steps int) float64 {
	inUse.fma[1](steps)
	return float64(steps) * float64(inUse.flop[1])
}
