// Package simd chooses among the versions of a function that are written for different processors.
//
// A package lists the versions that this processor can run, in rising order of their demands and
// without gaps: generic (plain Go), avx2, avx512 on amd64; generic, neon on arm64. The environment
// variable GSIMC_CPU = generic, avx2 or avx512 bounds the choice, for tests and comparisons. Any
// other value is no bound.
package simd

import "os"

// Best returns the last of the supported versions within the bound of the environment.
// supported must not be empty.
func Best[K any](supported []K) K { return within(supported, os.Getenv("GSIMC_CPU")) }

func within[K any](supported []K, bound string) K {
	switch bound {
	case "generic":
		return supported[0]
	case "avx2":
		return supported[min(1, len(supported)-1)]
	}
	return supported[len(supported)-1]
}
