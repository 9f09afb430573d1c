// Package vec holds the float32 kernels of the read path: the scan of n decoder rows against one query, and the
// selection of the N largest scores.
//
// # Conventions
//
// Matrices are row-major without gaps: row i of an n×k matrix m is m[i*k : (i+1)*k]. A function whose name ends in To
// writes to its first argument, dst, which the caller allocates and which must not overlap the other arguments. Lengths
// that do not fit are a bug of the caller and panic.
//
// # Bits
//
// [Dot] fixes the order of its additions (see there), and every product is rounded to float32 before it is added, so
// that no compiler may fuse the two. [ScanTo] gives the very bits of Dot for every row. So scores are equal on all
// levels of amd64 and on arm64, and equal scores stay ties wherever the item stands.
//
// # Kernels
//
// The plain Go version is compiled in every build, is what every other version is tested against, and does not call
// anything but itself. The kernel in use is one unexported variable, set once when the program starts and never changed.
// Today there is one kernel. A SIMD version implements
//
//	scan(dst, rows, q []float32)  // lengths checked: len(rows) == len(dst)*len(q)
//
// and need not give the same bits as long as its user rescores what it selects; the order of Dot is chosen so that one
// with eight lanes and separate multiplication and addition does.
package vec

// kernel is what an implementation for one kind of processor provides.
type kernel struct {
	name string
	scan func(dst, rows, q []float32) // see ScanTo; the lengths are already checked
}

// inUse is the kernel behind ScanTo.
var inUse = kernel{name: "generic", scan: scanGeneric}

// KernelName names the kernel in use, for logs and benchmark headers.
func KernelName() string { return inUse.name }

// Dot returns a·b in float32. The lengths must be equal.
//
// There are eight sums; product i is added to sum i mod 8, in rising i, and the sums are added up as
//
//	((s0+s4) + (s2+s6)) + ((s1+s5) + (s3+s7))
//
// which is what an eight-lane register folded in halves gives.
func Dot(a, b []float32) float32 {
	if len(a) != len(b) {
		panic("vec: Dot of vectors of different lengths")
	}
	return dotGeneric(a, b)
}

// ScanTo writes the n = len(dst) dot products of the rows of the n×k matrix rows with q, k = len(q):
//
//	dst[i] = rows[i*k : (i+1)*k] · q
//
// The work is O(nk) and reads rows once, from front to back.
func ScanTo(dst, rows, q []float32) {
	if len(rows) != len(dst)*len(q) {
		panic("vec: ScanTo of a matrix that is not len(dst) × len(q)")
	}
	inUse.scan(dst, rows, q)
}
