package gemm

// genericTile is the mr and nr of the plain Go kernel: its 16 sums and the
// operands fit the 32 floating-point registers that most processors have.
const genericTile = 4

func generic[T Float]() kernel[T] {
	return kernel[T]{name: "generic", mr: genericTile, nr: genericTile, tile: tileGeneric[T]}
}

func tileGeneric[T Float](
	k int, alpha T, a []T, outer, inner int, b, c []T, stride int, _ *ahead[T],
) {
	var (
		c00, c01, c02, c03 T
		c10, c11, c12, c13 T
		c20, c21, c22, c23 T
		c30, c31, c32, c33 T
	)
	for l := range k {
		b0, b1, b2, b3 := b[0], b[1], b[2], b[3]
		b = b[genericTile:]
		x := a[l*inner]
		c00, c01, c02, c03 = c00+x*b0, c01+x*b1, c02+x*b2, c03+x*b3
		x = a[outer+l*inner]
		c10, c11, c12, c13 = c10+x*b0, c11+x*b1, c12+x*b2, c13+x*b3
		x = a[2*outer+l*inner]
		c20, c21, c22, c23 = c20+x*b0, c21+x*b1, c22+x*b2, c23+x*b3
		x = a[3*outer+l*inner]
		c30, c31, c32, c33 = c30+x*b0, c31+x*b1, c32+x*b2, c33+x*b3
	}
	for i, sums := range [genericTile][genericTile]T{
		{c00, c01, c02, c03}, {c10, c11, c12, c13}, {c20, c21, c22, c23}, {c30, c31, c32, c33},
	} {
		row := c[i*stride:][:genericTile]
		for j, sum := range sums {
			row[j] += alpha * sum
		}
	}
}
