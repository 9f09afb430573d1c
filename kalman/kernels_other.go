//go:build !amd64

package kalman

// kernels lists what this processor can do.
func kernels() []kernel { return []kernel{generic} }
