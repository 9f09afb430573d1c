//go:build !amd64

package vec

func kernels() []kernel { return []kernel{generic} }
