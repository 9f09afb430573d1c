package peak

var (
	loops32 = []Loop{{"avx2", fma32AVX2, 12 * 8 * 2}, {"avx512", fma32AVX512, 24 * 16 * 2}}
	loops64 = []Loop{{"avx2", fma64AVX2, 12 * 4 * 2}, {"avx512", fma64AVX512, 24 * 8 * 2}}
)

//go:noescape
func fma32AVX2(rounds int)

//go:noescape
func fma64AVX2(rounds int)

//go:noescape
func fma32AVX512(rounds int)

//go:noescape
func fma64AVX512(rounds int)
