package gemm

import "unsafe"

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

// rowGap is the gap between the rows that packA copies, in elements. It keeps the rows
// of a tile from competing for the same cache lines.
const rowGap = 16

// packA copies the block x[first:first+count, from:from+k] of op(A) to dst. A
// transposed A is packed into panels of mr, like B. A plain A is copied by rows, and
// zero rows fill up the last tile. outer and inner are the distances within a panel.
func packA[T Float](dst []T, x operand[T], first, count, from, k, mr int) (outer, inner int) {
	if x.inner != 1 {
		pack(dst, x, first, count, from, k, mr)
		return 1, mr
	}
	row := k + rowGap
	for i := range roundUp(count, mr) {
		to := dst[i*row:][:k]
		if i < count {
			copy(to, x.data[(first+i)*x.outer+from:])
		} else {
			clear(to)
		}
	}
	return row, 1
}

// rowPanels is the number of panels that packRows fills side by side. Several make it
// read whole cache lines of each row, which matters where rows are far apart. More would
// write to more lines at a time than the first-level cache holds.
const rowPanels = 8

// packRows fills panels whose groups of width elements are contiguous in src.
func packRows[T Float](panels, src []T, stride, have, k, width int) {
	whole := have / width
	switch width {
	case 6:
		packGroups[[6]T](panels, src, stride, whole, k)
	case 8:
		packGroups[[8]T](panels, src, stride, whole, k)
	case 12:
		packGroups[[12]T](panels, src, stride, whole, k)
	case 16:
		packGroups[[16]T](panels, src, stride, whole, k)
	case 32:
		packGroups[[32]T](panels, src, stride, whole, k)
	default:
		whole = 0
	}
	panels, have = panels[whole*k*width:], have-whole*width
	if have == 0 {
		return
	}
	src = src[whole*width:]
	for l := range k {
		row := src[l*stride:][:have]
		for at := l * width; len(row) > 0; at += k * width {
			row = row[copy(panels[at:at+width], row):]
		}
	}
}

// packGroups is packRows for whole panels of a constant width: a copy of a group is a
// few register moves.
func packGroups[G any, T Float](panels, src []T, stride, count, k int) {
	if count == 0 || k == 0 {
		return
	}
	var group G
	var zero T
	width := int(unsafe.Sizeof(group) / unsafe.Sizeof(zero))
	to := unsafe.Slice((*G)(unsafe.Pointer(&panels[0])), len(panels)/width)
	for l := range k {
		row := src[l*stride:][:count*width]
		from := unsafe.Slice((*G)(unsafe.Pointer(&row[0])), count)
		for i := range from {
			to[i*k+l] = from[i]
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
