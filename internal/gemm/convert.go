package gemm

// ToFloat32 returns x rounded to float32.
func ToFloat32(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}
