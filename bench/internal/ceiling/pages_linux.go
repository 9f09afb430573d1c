package ceiling

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Pages returns n zeros in large pages where the system has them, so that a scan does not wait for
// address translation, and a function that gives them back.
func Pages[T byte | float32](n int) ([]T, func() error, error) {
	const huge = 2 << 20
	size := n * int(unsafe.Sizeof(*new(T)))
	p, err := unix.Mmap(-1, 0, max(1, (size+huge-1)/huge)*huge, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	_ = unix.Madvise(p, unix.MADV_HUGEPAGE) // a wish: small pages do too
	for i := 0; i < len(p); i += 4096 {
		p[i] = 0 // now, not in the first measurement
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(p))),
		n), func() error { return unix.Munmap(p) }, nil
}
