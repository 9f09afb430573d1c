package gemm

import "golang.org/x/sys/cpu"

// The NEON kernel holds a tile of 6 rows by four vector registers in 24 of the 32 registers.
func kernels64() []kernel[float64] {
	all := []kernel[float64]{generic[float64]()}
	if cpu.ARM64.HasASIMD {
		all = append(all, kernel[float64]{name: "neon", mr: 6, nr: 8, tile: tile64NEON})
	}
	return all
}

func kernels32() []kernel[float32] {
	all := []kernel[float32]{generic[float32]()}
	if cpu.ARM64.HasASIMD {
		all = append(all, kernel[float32]{name: "neon", mr: 6, nr: 16, tile: tile32NEON})
	}
	return all
}

// The functions below are kernel.tile, see there.

//go:noescape
func tile64NEON(k int, alpha float64, a []float64, outer, inner int,
	b, c []float64, stride int, next *ahead[float64])

//go:noescape
func tile32NEON(k int, alpha float32, a []float32, outer, inner int,
	b, c []float32, stride int, next *ahead[float32])
