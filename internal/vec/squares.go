package vec

// ScanSquaresTo writes the n = len(dst) quadratic forms of the rows of the n×k matrix rows with the diagonal p, k = len(p):
//
//	dst[i] = Σ_l rows[i*k+l]² p[l]
//
// The order of the additions is that of Dot, and every product is rounded.
func ScanSquaresTo(dst, rows, p []float32) {
	if len(rows) != len(dst)*len(p) {
		panic("vec: ScanSquaresTo of a matrix that is not len(dst) × len(p)")
	}
	k := len(p)
	for i := range dst {
		dst[i] = dotSquares(rows[:k], p)
		rows = rows[k:]
	}
}

// dotSquares is dotGeneric with the squares of a.
func dotSquares(a, p []float32) float32 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	i := 7
	for ; i < len(a) && i < len(p); i += 8 {
		s0 += float32(float32(a[i-7]*a[i-7]) * p[i-7])
		s1 += float32(float32(a[i-6]*a[i-6]) * p[i-6])
		s2 += float32(float32(a[i-5]*a[i-5]) * p[i-5])
		s3 += float32(float32(a[i-4]*a[i-4]) * p[i-4])
		s4 += float32(float32(a[i-3]*a[i-3]) * p[i-3])
		s5 += float32(float32(a[i-2]*a[i-2]) * p[i-2])
		s6 += float32(float32(a[i-1]*a[i-1]) * p[i-1])
		s7 += float32(float32(a[i]*a[i]) * p[i])
	}
	if rest := i - 7; rest < len(a) {
		s := [8]float32{s0, s1, s2, s3, s4, s5, s6, s7}
		for j, x := range a[rest:] {
			s[j&7] += float32(float32(x*x) * p[rest+j])
		}
		s0, s1, s2, s3, s4, s5, s6, s7 = s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]
	}
	return ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))
}
