package gemm

import "fmt"

// SumRows sets dst to the sum of the given rows of a strip, a matrix of
// StripWidth columns without gaps, in the order of rows:
//
//	dst[j] = Σ_i strip[rows[i]*StripWidth+j]
//
// It is the product with a sparse 0/1 matrix, row by row. All kernels give the
// same bits. Rows outside of the strip are a bug of the caller and are noticed
// before anything is read.
func SumRows(dst, strip []float64, rows []int32) {
	if len(dst) != StripWidth {
		panic(fmt.Sprintf("gemm: sum of rows of %d elements", len(dst)))
	}
	limit := uint32(len(strip) / StripWidth)
	for _, r := range rows {
		if uint32(r) >= limit {
			panic(fmt.Sprintf("gemm: row %d of a strip of %d rows", r, limit))
		}
	}
	sumInUse.rows(dst, strip, rows)
}

// A summer is SumRows for one kind of processor, with the rows checked.
type summer struct {
	name string
	rows func(dst, strip []float64, rows []int32)
}

func sumGeneric(dst, strip []float64, rows []int32) {
	sum := (*[StripWidth]float64)(dst)
	clear(sum[:])
	for _, r := range rows {
		for j, v := range (*[StripWidth]float64)(strip[int(r)*StripWidth:]) {
			sum[j] += v
		}
	}
}
