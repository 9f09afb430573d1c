//go:build !amd64

package kalman

// kernels returns the kernels that this processor can run, the best last.
func kernels() []kernel { return []kernel{generic} }
