//go:build !amd64 && !arm64

package vec

func kernels() []kernel { return []kernel{generic} }
