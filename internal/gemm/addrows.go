package gemm

import "fmt"

// AddRows adds a row to the given rows of a strip, a matrix of len(x) columns
// without gaps:
//
//	strip[rows[i]*len(x)+j] += x[j]
//
// It is the transpose of [SumRows], with fast kernels for rows of the same
// lengths. All kernels give the same bits. Rows outside of the strip are a bug
// of the caller and are noticed before anything is written.
func AddRows[T Float](strip, x []T, rows []int32) {
	checkRows(len(strip)/max(1, len(x)), rows)
	switch x := any(x).(type) {
	case []float64:
		if len(x) == StripWidth {
			addInUse.double(any(strip).([]float64), x, rows)
			return
		}
	case []float32:
		switch len(x) {
		case StripWidth:
			addInUse.single(any(strip).([]float32), x, rows)
			return
		case 2 * StripWidth:
			addInUse.wide(any(strip).([]float32), x, rows)
			return
		}
	}
	addGeneric(strip, x, rows)
}

// checkRows panics if one of the rows is not in [0, limit).
func checkRows(limit int, rows []int32) {
	var highest uint32
	for _, r := range rows {
		highest = max(highest, uint32(r))
	}
	if len(rows) > 0 && int(highest) >= limit {
		panic(fmt.Sprintf("gemm: row %d of a strip of %d rows", int32(highest), limit))
	}
}

// An adder is AddRows for one kind of processor, with the rows checked.
type adder struct {
	name   string
	double func(strip, x []float64, rows []int32)
	single func(strip, x []float32, rows []int32)
	wide   func(strip, x []float32, rows []int32)
}

func addGeneric[T Float](strip, x []T, rows []int32) {
	for _, r := range rows {
		at := strip[int(r)*len(x):][:len(x)]
		for j, v := range x {
			at[j] += v
		}
	}
}
