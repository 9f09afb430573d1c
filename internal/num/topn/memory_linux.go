package topn

import "golang.org/x/sys/unix"

// allocate returns n zero bytes, in huge pages if the system has them: a scan of many megabytes
// would otherwise miss the translation of an address every 4 KiB.
func allocate(n int) []byte {
	if n == 0 {
		return nil
	}
	data, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return make([]byte, n)
	}
	_ = unix.Madvise(data, unix.MADV_HUGEPAGE) // without them it is only slower
	return data
}

// release gives the memory back. It does nothing for memory that is not from the system.
func release(data []byte) {
	if data != nil {
		_ = unix.Munmap(data) // refuses what it did not give
	}
}
