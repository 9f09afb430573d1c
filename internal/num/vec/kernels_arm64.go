package vec

import "golang.org/x/sys/cpu"

// kernels lists what this processor can do. The int8 rows want the dot products of Armv8.2, which
// nearly all servers have.
func kernels() []kernel {
	all := []kernel{generic}
	if !cpu.ARM64.HasASIMD {
		return all
	}
	neon := generic
	neon.collectFive = nil
	neon.name, neon.dot, neon.scan, neon.scanRows = "neon", dotNEON, scanNEON, scanRowsNEON
	neon.squares = squaresNEON
	if cpu.ARM64.HasASIMDDP {
		neon.collect, neon.quantised = collectMasked(dotsNEON, reachNEON), true
	}
	return append(all, neon)
}

//go:noescape
func dotNEON(a, b []float32) float32

//go:noescape
func scanNEON(dst, rows, q []float32)

//go:noescape
func scanRowsNEON(dst, rows []float32, numbers []int32, q []float32)

//go:noescape
func squaresNEON(dst, rows, p []float32)

//go:noescape
func dotsNEON(d *[BlockRows]int32, block []byte, q *Digits, next []byte)

//go:noescape
func reachNEON(masks *[masksOfBlock]uint16, d *[BlockRows]int32, b *Bounds, floor float32) bool
