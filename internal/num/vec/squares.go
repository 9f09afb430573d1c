package vec

// ScanSquaresTo writes the n = len(dst) quadratic forms of the rows of the n×k matrix rows with the
// diagonal p, k = len(p):
//
//	dst[i] = Σ_l rows[i*k+l]² p[l]
//
// The order of the additions is that of Dot, and every product is rounded, the square first.
func ScanSquaresTo(dst, rows, p []float32) {
	if len(rows) != len(dst)*len(p) {
		panic("vec: ScanSquaresTo of a matrix that is not len(dst) × len(p)")
	}
	inUse.squares(dst, rows, p)
}

func squaresGeneric(dst, rows, p []float32) {
	k := len(p)
	for i := range dst {
		dst[i] = dotSquares(rows[:k], p)
		rows = rows[k:]
	}
}

// squaresBlock is the number of squares that dotSquares computes at a time. They stay in the
// first-level cache. It is a multiple of lanes, so that blocks do not change the order of the sums.
const squaresBlock = 8 * lanes

// dotSquares is dotGeneric with the squares of a.
func dotSquares(a, p []float32) float32 {
	var s [lanes]float32
	var squares [squaresBlock]float32
	for len(a) > 0 {
		size := min(squaresBlock, len(a))
		for i, x := range a[:size] {
			squares[i] = x * x
		}
		whole := size &^ (lanes - 1)
		for first := 0; first < lanes; first += 8 {
			quarter(s[first:first+8:first+8], squares[:whole], p[:whole], first)
		}
		for j, x := range squares[whole:size] {
			s[j] += float32(x * p[whole+j])
		}
		a, p = a[size:], p[size:]
	}
	return fold(&s)
}
