package vec

import "golang.org/x/sys/cpu"

// kernels lists what this processor can do. x/sys/cpu knows a feature only if the operating system
// saves its registers.
func kernels() []kernel {
	all := []kernel{generic}
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA {
		return all
	}
	avx2 := kernel{
		name: "avx2", dot: dotAVX2, scan: scanAVX2, scanRows: scanRowsAVX2, squares: squaresAVX2,
		collect: collectMasked(dotsAVX2, reachAVX2), drop: dropGeneric, count: countGeneric,
		quantised: true,
	}
	all = append(all, avx2)
	if !cpu.X86.HasAVX512F || !cpu.X86.HasAVX512BW || !cpu.X86.HasAVX512VL || !cpu.X86.HasAVX512DQ {
		return all
	}
	avx512 := avx2 // without VNNI there is nothing better than AVX2 for the int8 rows
	avx512.name, avx512.dot = "avx512", dotAVX512
	avx512.scan, avx512.scanRows = scanAVX512, scanRowsAVX512
	avx512.drop, avx512.count = dropAVX512, countAVX512
	avx512.squares = squaresAVX512
	if cpu.X86.HasAVX512VNNI {
		avx512.collect, avx512.collectFive = collectAVX512, collectFiveAVX512
		avx512.smallFaster = true
	}
	return append(all, avx512)
}

//go:noescape
func dotAVX2(a, b []float32) float32

//go:noescape
func dotAVX512(a, b []float32) float32

//go:noescape
func scanAVX2(dst, rows, q []float32)

//go:noescape
func scanAVX512(dst, rows, q []float32)

//go:noescape
func scanRowsAVX2(dst, rows []float32, numbers []int32, q []float32)

//go:noescape
func scanRowsAVX512(dst, rows []float32, numbers []int32, q []float32)

//go:noescape
func squaresAVX2(dst, rows, p []float32)

//go:noescape
func squaresAVX512(dst, rows, p []float32)

//go:noescape
func dotsAVX2(d *[BlockRows]int32, block []byte, q *Digits, next []byte)

//go:noescape
func reachAVX2(masks *[masksOfBlock]uint16, d *[BlockRows]int32, b *Bounds, floor float32) bool

//go:noescape
func collectAVX512(
	c *Candidates, block []byte, q *Digits, b *Bounds, floor float32, first int32, next []byte,
) int

//go:noescape
func collectFiveAVX512(
	c *Candidates, block []byte, q *Digits, b *Bounds, floor float32, first int32, next []byte,
) int

//go:noescape
func dropAVX512(c *Candidates, floor float32) int

//go:noescape
func countAVX512(v []float32, floor float32) int
