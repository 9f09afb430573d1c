package vec

// lanes is the number of sums of Dot: two registers of AVX-512, four of AVX2, eight of NEON.
const lanes = 32

// dotGeneric is Dot without the check of the lengths. Eight sums fit the registers of every
// processor. So dotGeneric reads the row four times, each time for a quarter of the sums; the row
// stays in the first-level cache.
func dotGeneric(a, b []float32) float32 {
	var s [lanes]float32
	whole := len(a) &^ (lanes - 1)
	for first := 0; first < lanes; first += 8 {
		quarter(s[first:first+8:first+8], a[:whole], b[:whole], first)
	}
	for j, x := range a[whole:] {
		s[j] += float32(x * b[whole+j])
	}
	return fold(&s)
}

// quarter adds to the eight sums s the products first … first+7 of every lanes products.
func quarter(s, a, b []float32, first int) {
	_ = s[7]
	s0, s1, s2, s3, s4, s5, s6, s7 := s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]
	for i := first + 7; i < len(a) && i < len(b); i += lanes {
		s0 += float32(a[i-7] * b[i-7])
		s1 += float32(a[i-6] * b[i-6])
		s2 += float32(a[i-5] * b[i-5])
		s3 += float32(a[i-4] * b[i-4])
		s4 += float32(a[i-3] * b[i-3])
		s5 += float32(a[i-2] * b[i-2])
		s6 += float32(a[i-1] * b[i-1])
		s7 += float32(a[i] * b[i])
	}
	s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7] = s0, s1, s2, s3, s4, s5, s6, s7
}

// fold adds the sums up in halves: s_i + s_{i+16}, then those + the ones eight further on, and so
// on.
func fold(s *[lanes]float32) float32 {
	for half := lanes / 2; half > 0; half /= 2 {
		for i := range half {
			s[i] += s[i+half]
		}
	}
	return s[0]
}

func scanGeneric(dst, rows, q []float32) {
	k := len(q)
	for i := range dst {
		dst[i] = dotGeneric(rows[:k], q)
		rows = rows[k:]
	}
}

func scanRowsGeneric(dst, rows []float32, numbers []int32, q []float32) {
	k := len(q)
	for j, i := range numbers {
		dst[j] = dotGeneric(rows[int(i)*k:(int(i)+1)*k], q)
	}
}
