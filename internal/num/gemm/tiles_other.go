//go:build !amd64 && !arm64

package gemm

func kernels64() []kernel[float64] { return []kernel[float64]{generic[float64]()} }

func kernels32() []kernel[float32] { return []kernel[float32]{generic[float32]()} }
