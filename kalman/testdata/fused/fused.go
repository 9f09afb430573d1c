// Package fused has one product that a compiler may fuse with the sum: the counterexample of
// TestNoFusedInstructions.
package fused

// MulAdd returns x·y + z with one rounding or two, as the compiler likes.
func MulAdd(x, y, z float32) float32 { return x*y + z }
