//go:build !amd64

package gemm

func kernels64() []kernel[float64] { return []kernel[float64]{generic[float64]()} }

func kernels32() []kernel[float32] { return []kernel[float32]{generic[float32]()} }

func rotators() []rotator { return []rotator{{"generic", rotateGeneric}} }

func summers() []summer {
	return []summer{{"generic", sumGeneric[float64], sumGeneric[float32], sumGeneric[float32]}}
}

func folders() []folder { return []folder{{"generic", foldGeneric}} }
