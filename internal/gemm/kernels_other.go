//go:build !amd64

package gemm

func rotators() []rotator { return []rotator{{"generic", rotateGeneric}} }

func summers() []summer {
	return []summer{{"generic", sumGeneric[float64], sumGeneric[float32], sumGeneric[float32]}}
}

func adders() []adder {
	return []adder{{"generic", addGeneric[float64], addGeneric[float32], addGeneric[float32]}}
}

func pairers() []pairer { return []pairer{{"generic", pairsOfStrip}} }

func folders() []folder { return []folder{{"generic", foldGeneric}} }
