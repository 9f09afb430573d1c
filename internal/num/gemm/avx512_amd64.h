// The body of the AVX-512 kernels for both element types. The including file
// defines SHIFT (log2 of the element's bytes) and BCAST, FMA, FMADD (213 form),
// LOAD and STORE.
//
// Registers:
//	SI, DI, R8, R9 A's rows 0, 3, 6 and 9
//	BX, CX         bytes from a row, and from a column, of A to the next
//	DX             B's panel
//	R10            C, R11 bytes from a row of C to the next
//	AX             steps left
//	Z0, Z1         a row of B's panel; Z0 at the end: alpha
//	Z2 … Z4        elements of A
//	Z8 … Z31       the tile: row i is Z(8+2i), Z(9+2i)

#define ROWS3(base, c00, c01, c10, c11, c20, c21) \
	BCAST (base), Z2; \
	BCAST (base)(BX*1), Z3; \
	BCAST (base)(BX*2), Z4; \
	FMA Z0, Z2, c00; \
	FMA Z1, Z2, c01; \
	FMA Z0, Z3, c10; \
	FMA Z1, Z3, c11; \
	FMA Z0, Z4, c20; \
	FMA Z1, Z4, c21; \
	ADDQ CX, base

#define ZERO2(c0, c1) \
	VPXORQ c0, c0, c0; \
	VPXORQ c1, c1, c1

#define ADDROW(c0, c1) \
	FMADD (R10), Z0, c0; \
	FMADD 64(R10), Z0, c1; \
	STORE c0, (R10); \
	STORE c1, 64(R10); \
	ADDQ R11, R10

// FETCHROW prefetches a row of C, to which the sums are added at the end.
#define FETCHROW \
	PREFETCHT0 (R13); \
	PREFETCHT0 64(R13); \
	PREFETCHT0 124(R13); \
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
	LEAQ (SI)(DI*2), R8; \
	LEAQ (R8)(DI*1), R9; \
	ADDQ SI, DI; \
	MOVQ R10, R13; \
	FETCHROW; \
	FETCHROW; \
	FETCHROW; \
	FETCHROW; \
	FETCHROW; \
	FETCHROW; \
	FETCHROW; \
	FETCHROW; \
	FETCHROW; \
	FETCHROW; \
	FETCHROW; \
	FETCHROW; \
	AHEAD; \
	ZERO2(Z8, Z9); \
	ZERO2(Z10, Z11); \
	ZERO2(Z12, Z13); \
	ZERO2(Z14, Z15); \
	ZERO2(Z16, Z17); \
	ZERO2(Z18, Z19); \
	ZERO2(Z20, Z21); \
	ZERO2(Z22, Z23); \
	ZERO2(Z24, Z25); \
	ZERO2(Z26, Z27); \
	ZERO2(Z28, Z29); \
	ZERO2(Z30, Z31); \
	TESTQ AX, AX; \
	JLE done; \
loop: \
	LOAD (DX), Z0; \
	LOAD 64(DX), Z1; \
	ROWS3(SI, Z8, Z9, Z10, Z11, Z12, Z13); \
	ROWS3(DI, Z14, Z15, Z16, Z17, Z18, Z19); \
	ROWS3(R8, Z20, Z21, Z22, Z23, Z24, Z25); \
	ROWS3(R9, Z26, Z27, Z28, Z29, Z30, Z31); \
	PREFETCHT0 (R12); \
	PREFETCHT0 64(R12); \
	ADDQ R13, R12; \
	ADDQ $128, DX; \
	DECQ AX; \
	TESTQ $15, AX; \
	JNZ loop; \
	ADDQ R15, R12; \
	PREFETCHT0 (R14); \
	PREFETCHT0 64(R14); \
	ADDQ $128, R14; \
	TESTQ AX, AX; \
	JNZ loop; \
done:

// ADDTILE expects Z0 = alpha.
#define ADDTILE \
	ADDROW(Z8, Z9); \
	ADDROW(Z10, Z11); \
	ADDROW(Z12, Z13); \
	ADDROW(Z14, Z15); \
	ADDROW(Z16, Z17); \
	ADDROW(Z18, Z19); \
	ADDROW(Z20, Z21); \
	ADDROW(Z22, Z23); \
	ADDROW(Z24, Z25); \
	ADDROW(Z26, Z27); \
	ADDROW(Z28, Z29); \
	ADDROW(Z30, Z31); \
	VZEROUPPER
