package gemm

// pack copies the block x[first:first+count, from:from+k] of an operand into
// panels of the given width: element (first+p*width+i, from+l) is
// dst[(p*k+l)*width+i]. The last panel is filled up with zeros.
func pack[T Float](dst []T, x operand[T], first, count, from, k, width int) {
	for ; count > 0; first, count, dst = first+width, count-width, dst[k*width:] {
		panel, have := dst[:k*width], min(width, count)
		if have < width {
			clear(panel)
		}
		src := x.data[first*x.outer+from*x.inner:]
		if x.outer == 1 {
			packRows(panel, src, x.inner, have, width)
		} else {
			packColumns(panel, src, x.outer, have, k, width)
		}
	}
}

// packRows fills a panel whose groups of width elements are contiguous in src.
func packRows[T Float](panel, src []T, stride, have, width int) {
	for at := 0; ; at += stride {
		copy(panel[:width], src[at:at+have])
		if panel = panel[width:]; len(panel) == 0 {
			return
		}
	}
}

// packColumns fills a panel whose columns are contiguous in src: a
// transposition, four columns at a time.
func packColumns[T Float](panel, src []T, stride, have, k, width int) {
	i := 0
	for ; i+4 <= have; i += 4 {
		s0, s1 := src[i*stride:][:k], src[(i+1)*stride:][:k]
		s2, s3 := src[(i+2)*stride:][:k], src[(i+3)*stride:][:k]
		for l, at := 0, i; l < k; l, at = l+1, at+width {
			to := panel[at : at+4 : at+4]
			to[0], to[1], to[2], to[3] = s0[l], s1[l], s2[l], s3[l]
		}
	}
	for ; i < have; i++ {
		for l, v := range src[i*stride:][:k] {
			panel[l*width+i] = v
		}
	}
}
