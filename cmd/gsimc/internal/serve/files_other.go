//go:build !unix

package serve

import "math"

// openFilesLimit returns how many files this process may have open.
func openFilesLimit() uint64 { return math.MaxUint64 }
