// The body of the AVX2 kernels for both element types. The including file
// defines SHIFT (log2 of the element's bytes) and BCAST, FMA, FMADD (213 form),
// LOAD and STORE.
//
// Registers:
//	SI, DI         A's rows 0 and 3
//	BX, CX         bytes from a row, and from a column, of A to the next
//	DX             B's panel
//	R10            C, R11 bytes from a row of C to the next
//	AX             steps left
//	Y0, Y1         a row of B's panel; Y0 at the end: alpha
//	Y2, Y3         elements of A
//	Y4 … Y15       the tile: row i is Y(4+2i), Y(5+2i)

#define ROWS3(base, c00, c01, c10, c11, c20, c21) \
	BCAST (base), Y2; \
	BCAST (base)(BX*1), Y3; \
	FMA Y0, Y2, c00; \
	FMA Y1, Y2, c01; \
	BCAST (base)(BX*2), Y2; \
	FMA Y0, Y3, c10; \
	FMA Y1, Y3, c11; \
	FMA Y0, Y2, c20; \
	FMA Y1, Y2, c21; \
	ADDQ CX, base

#define ZERO2(c0, c1) \
	VXORPS c0, c0, c0; \
	VXORPS c1, c1, c1

#define ADDROW(c0, c1) \
	FMADD (R10), Y0, c0; \
	FMADD 32(R10), Y0, c1; \
	STORE c0, (R10); \
	STORE c1, 32(R10); \
	ADDQ R11, R10

// FETCHROW prefetches a row of C, to which the sums are added at the end.
#define FETCHROW \
	PREFETCHT0 (R13); \
	PREFETCHT0 60(R13); \
	ADDQ R11, R13

// AHEAD loads the ahead structure at R12.
#define AHEAD \
	MOVQ 24(R12), R14; \
	MOVQ 48(R12), R13; \
	MOVQ 56(R12), R15; \
	MOVQ 0(R12), R12; \
	SHLQ SHIFT, R13; \
	SHLQ SHIFT, R15

// SUMS expects SI = a, BX = outer, CX = inner, DX = b, R10 = c, R11 = stride, all
// in elements, and AX = k.
#define SUMS \
	SHLQ SHIFT, BX; \
	SHLQ SHIFT, CX; \
	SHLQ SHIFT, R11; \
	LEAQ (BX)(BX*2), DI; \
	ADDQ SI, DI; \
	MOVQ R10, R13; \
	FETCHROW; \
	FETCHROW; \
	FETCHROW; \
	FETCHROW; \
	FETCHROW; \
	FETCHROW; \
	AHEAD; \
	ZERO2(Y4, Y5); \
	ZERO2(Y6, Y7); \
	ZERO2(Y8, Y9); \
	ZERO2(Y10, Y11); \
	ZERO2(Y12, Y13); \
	ZERO2(Y14, Y15); \
	TESTQ AX, AX; \
	JLE done; \
loop: \
	LOAD (DX), Y0; \
	LOAD 32(DX), Y1; \
	ROWS3(SI, Y4, Y5, Y6, Y7, Y8, Y9); \
	ROWS3(DI, Y10, Y11, Y12, Y13, Y14, Y15); \
	PREFETCHT0 (R12); \
	PREFETCHT0 64(R12); \
	ADDQ R13, R12; \
	ADDQ $64, DX; \
	DECQ AX; \
	TESTQ $15, AX; \
	JNZ loop; \
	ADDQ R15, R12; \
	PREFETCHT0 (R14); \
	ADDQ $64, R14; \
	TESTQ AX, AX; \
	JNZ loop; \
done:

// ADDTILE expects Y0 = alpha.
#define ADDTILE \
	ADDROW(Y4, Y5); \
	ADDROW(Y6, Y7); \
	ADDROW(Y8, Y9); \
	ADDROW(Y10, Y11); \
	ADDROW(Y12, Y13); \
	ADDROW(Y14, Y15); \
	VZEROUPPER
