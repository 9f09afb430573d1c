//go:build !amd64

package gemm

func rotateKernels() []rotateKernel { return []rotateKernel{{"generic", rotateGeneric}} }

func pairsKernels() []pairsKernel { return []pairsKernel{pairsGeneric} }

func foldKernels() []foldKernel { return []foldKernel{{"generic", foldGeneric}} }
