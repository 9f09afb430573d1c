package gemm

// SumRows sets dst to the sum of the given rows of a strip, a matrix of
// len(dst) columns without gaps, in the order of rows:
//
//	dst[j] = Σ_i strip[rows[i]*len(dst)+j]
//
// It is the product with a sparse 0/1 matrix, row by row. All kernels give the
// same bits. There are fast ones for rows of 256 bytes, 32 of float64 or 64 of
// float32, and for 32 of float32. Rows outside of the strip are a bug of the
// caller and are noticed before anything is read.
func SumRows[T Float](dst, strip []T, rows []int32) {
	checkRows(len(strip)/max(1, len(dst)), rows)
	switch dst := any(dst).(type) {
	case []float64:
		if len(dst) == StripWidth {
			sumInUse.double(dst, any(strip).([]float64), rows)
			return
		}
	case []float32:
		switch len(dst) {
		case StripWidth:
			sumInUse.single(dst, any(strip).([]float32), rows)
			return
		case 2 * StripWidth:
			sumInUse.wide(dst, any(strip).([]float32), rows)
			return
		}
	}
	sumGeneric(dst, strip, rows)
}

// A summer is SumRows for one kind of processor, with the rows checked: for
// rows of StripWidth elements, and of twice as many.
type summer struct {
	name   string
	double func(dst, strip []float64, rows []int32)
	single func(dst, strip []float32, rows []int32)
	wide   func(dst, strip []float32, rows []int32)
}

func sumGeneric[T Float](dst, strip []T, rows []int32) {
	clear(dst)
	for _, r := range rows {
		at := strip[int(r)*len(dst):][:len(dst)]
		for j, v := range at {
			dst[j] += v
		}
	}
}
