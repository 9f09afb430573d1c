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
	var h0, h1, h2, h3 uint32 // four chains of comparisons run side by side
	at := 0
	for ; at+4 <= len(rows); at += 4 {
		four := rows[at : at+4 : at+4]
		h0, h1 = max(h0, uint32(four[0])), max(h1, uint32(four[1]))
		h2, h3 = max(h2, uint32(four[2])), max(h3, uint32(four[3]))
	}
	for _, r := range rows[at:] {
		h0 = max(h0, uint32(r))
	}
	highest := max(h0, h1, h2, h3)
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
