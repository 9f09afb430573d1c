package kalman

import "golang.org/x/sys/cpu"

// kernels returns the kernels that this processor can run, the best last. x/sys/cpu knows a feature
// only if the operating system saves its registers.
func kernels() []kernel {
	all := []kernel{generic}
	if cpu.X86.HasAVX2 {
		all = append(all, kernel{"avx2", 8, filterAVX2, bandAVX2, deviationAVX2})
	}
	if cpu.X86.HasAVX2 && cpu.X86.HasAVX512F {
		all = append(all, kernel{"avx512", 16, filterAVX512, bandAVX512, deviationAVX512})
	}
	return all
}

//go:noescape
func filterAVX2(x, z, p, e, h []float32, a, a2, w, eta, nu float32)

//go:noescape
func bandAVX2(y, row []float32, a, w float32)

//go:noescape
func deviationAVX2(b, p, mean, eta, nu, u, x []float32, growth, scale, w float32)

//go:noescape
func filterAVX512(x, z, p, e, h []float32, a, a2, w, eta, nu float32)

//go:noescape
func bandAVX512(y, row []float32, a, w float32)

//go:noescape
func deviationAVX512(b, p, mean, eta, nu, u, x []float32, growth, scale, w float32)
