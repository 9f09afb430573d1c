package gemm

import "fmt"

// StripWidth is the number of columns of a strip of [RotateRows]. [AddPairs] is fast for rows of
// this width.
const StripWidth = 32

// RotateRows applies a chain of plane rotations to the rows of a strip, an
// r×StripWidth matrix without gaps, beginning with the last pair of rows:
//
//	for i = r−2, …, 0:  row i+1, row i  =  s_i·row i + c_i·row i+1,  c_i·row i − s_i·row i+1
//
// with r = len(c)+1 = len(s)+1. This is one sweep of the implicit QL iteration on
// the transposed eigenvectors.
func RotateRows(strip, c, s []float64) {
	if len(c) != len(s) || len(strip) != (len(c)+1)*StripWidth {
		panic(fmt.Sprintf("gemm: %d and %d rotations of a strip of %d elements",
			len(c), len(s), len(strip)))
	}
	if len(c) > 0 {
		rotateInUse.rows(strip, c, s)
	}
}

// A rotateKernel is RotateRows on one kind of processor, for len(c) ≥ 1.
type rotateKernel struct {
	name string
	rows func(strip, c, s []float64)
}

func rotateGeneric(strip, c, s []float64) {
	for i := len(c) - 1; i >= 0; i-- {
		upper := (*[StripWidth]float64)(strip[i*StripWidth:])
		lower := (*[StripWidth]float64)(strip[(i+1)*StripWidth:])
		c, s := c[i], s[i]
		for j, f := range lower {
			g := upper[j]
			lower[j] = s*g + c*f
			upper[j] = c*g - s*f
		}
	}
}
