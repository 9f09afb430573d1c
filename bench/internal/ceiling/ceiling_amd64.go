package ceiling

import "golang.org/x/sys/cpu"

var inUse = choose()

// choose takes the widest registers there are. Two FMA units with a latency of up to five cycles
// need ten sums in flight: the kernels keep twelve or more.
func choose() kernel {
	switch {
	case cpu.X86.HasAVX512F:
		return kernel{
			"avx512",
			loadAVX512,
			[2]func(int){fma32AVX512, fma64AVX512},
			[2]int{24 * 16 * 2, 24 * 8 * 2},
		}
	case cpu.X86.HasAVX2 && cpu.X86.HasFMA:
		return kernel{
			"avx2",
			loadAVX2,
			[2]func(int){fma32AVX2, fma64AVX2},
			[2]int{12 * 8 * 2, 12 * 4 * 2},
		}
	}
	return kernel{}
}

//go:noescape
func loadAVX512(p []byte)

//go:noescape
func loadAVX2(p []byte)

func fma32AVX512(steps int)

func fma64AVX512(steps int)

func fma32AVX2(steps int)

func fma64AVX2(steps int)
