//go:build !amd64

package gemm

func rotators() []rotator { return []rotator{{"generic", rotateGeneric}} }

func pairers() []pairer { return []pairer{pairsGeneric} }

func folders() []folder { return []folder{{"generic", foldGeneric}} }
