package gemm

// pack copies the block x[first:first+count, from:from+k] of an operand into
// panels of the given width: element (first+p*width+i, from+l) is
// dst[(p*k+l)*width+i]. The last panel is filled up with zeros.
func pack[T Float](dst []T, x operand[T], first, count, from, k, width int) {
	together := 1 // panels
	if x.outer == 1 {
		together = rowPanels
	}
	for ; count > 0; first, count = first+together*width, count-together*width {
		have := min(together*width, count)
		panels := dst[:roundUp(have, width)*k]
		dst = dst[len(panels):]
		if have%width != 0 {
			clear(panels[len(panels)-k*width:])
		}
		src := x.data[first*x.outer+from*x.inner:]
		if x.outer == 1 {
			packRows(panels, src, x.inner, have, k, width)
		} else {
			packColumns(panels, src, x.outer, have, k, width)
		}
	}
}

// rowPanels is how many panels packRows fills side by side: a row of the operand
// is then read over several cache lines, which matters where rows are far apart,
// and few enough lines are written at a time to stay in the first cache.
const rowPanels = 8

// packRows fills panels whose groups of width elements are contiguous in src.
func packRows[T Float](panels, src []T, stride, have, k, width int) {
	for l := range k {
		row := src[l*stride:][:have]
		for at := l * width; len(row) > 0; at += k * width {
			row = row[copy(panels[at:at+width], row):]
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
