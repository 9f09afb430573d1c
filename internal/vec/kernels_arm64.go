package vec

import "golang.org/x/sys/cpu"

// kernels lists what this processor can do. The int8 rows want the dot products of Armv8.2, which nearly all servers have.
func kernels() []kernel {
	all := []kernel{generic}
	if !cpu.ARM64.HasASIMD {
		return all
	}
	neon := generic
	neon.name, neon.dot, neon.scan = "neon", dotNEON, scanNEON
	if cpu.ARM64.HasASIMDDP {
		neon.dots, neon.dotsPanel, neon.reach, neon.quantised = dotsNEON, dotsPanelNEON, reachNEON, true
	}
	return append(all, neon)
}

func dotsNEON(d *[BlockRows]int32, panels []byte, stride int, q *Digits, add, _ bool) {
	for p := range PanelsOfBlock {
		dotsPanelNEON(d[p*PanelRows:(p+1)*PanelRows], panels[p*stride:], q, add)
	}
}

//go:noescape
func dotNEON(a, b []float32) float32

//go:noescape
func scanNEON(dst, rows, q []float32)

//go:noescape
func dotsPanelNEON(d []int32, panel []byte, q *Digits, add bool)

//go:noescape
func reachNEON(masks *[PanelsOfBlock]uint16, d *[BlockRows]int32, b *Bounds, floor float32) bool
