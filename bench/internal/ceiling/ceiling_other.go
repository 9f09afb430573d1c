//go:build !amd64

package ceiling

var inUse kernel
