package vec

// dotGeneric is Dot without the check of the lengths. The loop bound is written so that it stands in for the checks of
// a[i] and b[i]; the other seven are cheap because they never fail.
func dotGeneric(a, b []float32) float32 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	i := 7
	for ; i < len(a) && i < len(b); i += 8 {
		s0 += float32(a[i-7] * b[i-7])
		s1 += float32(a[i-6] * b[i-6])
		s2 += float32(a[i-5] * b[i-5])
		s3 += float32(a[i-4] * b[i-4])
		s4 += float32(a[i-3] * b[i-3])
		s5 += float32(a[i-2] * b[i-2])
		s6 += float32(a[i-1] * b[i-1])
		s7 += float32(a[i] * b[i])
	}
	if rest := i - 7; rest < len(a) {
		s := [8]float32{s0, s1, s2, s3, s4, s5, s6, s7}
		for j, x := range a[rest:] {
			s[j&7] += float32(x * b[rest+j])
		}
		s0, s1, s2, s3, s4, s5, s6, s7 = s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]
	}
	return ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))
}

// scanGeneric goes row by row: one row alone keeps eight additions in flight, and the processor's two loads per cycle
// busy; two and four rows per pass were measured and are slower, because sixteen sums do not fit the registers.
func scanGeneric(dst, rows, q []float32) {
	k := len(q)
	for i := range dst {
		dst[i] = dotGeneric(rows[:k], q)
		rows = rows[k:]
	}
}
