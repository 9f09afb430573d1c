// Package gemm multiplies dense matrices, fast: C += alpha·op(A)·op(B) in
// float64 and float32, on all processors, without cgo.
//
// # Conventions
//
// A [Matrix] is row-major: element (i, j) is Data[i*Stride+j]. It has the field
// layout of gonum's blas64.General, so that gemm.Matrix[float64](g) is a plain
// conversion. C must not overlap A or B.
// Shapes that do not fit are a bug of the caller and panic. Elements beyond a
// row's end, where the stride is larger than the number of columns, are neither
// used nor written.
//
// # Method
//
// The loops are those of K. Goto, R. van de Geijn, "Anatomy of
// High-Performance Matrix Multiplication", ACM TOMS 34, 2008, in the form of
// BLIS (F. Van Zee, R. van de Geijn, ACM TOMS 41, 2015):
//
//	for each block of nc columns of C, and of as many steps of the inner
//	dimension as fit the last cache
//	    pack B's block into panels that are nr wide          (together)
//	    for each strip of rows of C                          (one worker each)
//	        for each kc of these steps
//	            pack A's block into panels that are mr high
//	            for each panel of B, for each panel of A
//	                C's mr×nr tile += alpha · panel · panel  (the kernel)
//
// Where B has few columns A is not packed: its elements are used too seldom for
// the copy to pay, and the kernel reads A in place. While a kernel works it
// prefetches the tile of C and the operands of the next tiles.
//
// # Speed
//
// Buffers are kept between the calls, so a loop of products does not allocate.
// Products of a few columns are fastest with a plain A and a multiple of 32 columns.
// With a transposed A, rows whose distance is a multiple of 4096 bytes compete for
// the same cache lines. [SyrkT] and [MulAddUpper] do half of the work of [MulAdd]
// with the same bits.
//
// [RotateRows] and [AddPairs] are the other costly operations of an eigensolver.
// [Fold] is that of a regression on the states of a linear recursion.
//
// # Bits
//
// An element of C is the sum of partial sums over blocks of kc of the inner
// dimension. Each partial sum is added up in rising order. Neither the number of
// processors nor the place of an element within C changes the order, so a result
// depends on the kernel only. Different kernels differ in the last digits: some
// round a product before it is added, others do not.
//
// # Kernels
//
// The plain Go kernel is compiled in every build; the others are tested against it.
// On amd64 two more are written in assembly: AVX2 with FMA, and AVX-512F. On arm64
// the products have one, NEON. The program chooses the best kernel that processor
// and operating system support when it starts, within the bound of GSIMC_CPU (see
// package simd). [KernelName] returns its name.
package gemm
