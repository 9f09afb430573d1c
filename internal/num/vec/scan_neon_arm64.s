#include "textflag.h"
#include "neon_arm64.h"

// FACTOR is one of these two: what the numbers of a row become before they are multiplied with the query.
#define ITSELF(x)
#define SQUARED(x) FMUL4(x, x, x)

// PRODUCTS adds to the sums the products of two registers each of the row and the query.
#define PRODUCTS(a0, a1, b0, b1, sum0, sum1, FACTOR) \
	FACTOR(a0); \
	FACTOR(a1); \
	FMUL4(b0, a0, a0); \
	FMUL4(b1, a1, a1); \
	FADD4(a0, sum0, sum0); \
	FADD4(a1, sum1, sum1)

// TAIL adds the next four products to sum, or, where fewer than four are left, those in V16, and is then done.
#define TAIL(sum, FACTOR) \
	CMP $4, R6; \
	BGE 3(PC); \
	FADD4(16, sum, sum); \
	B skip; \
	VLD1.P 16(R1), [V17.S4]; \
	VLD1.P 16(R3), [V18.S4]; \
	FACTOR(17); \
	FMUL4(18, 17, 17); \
	FADD4(17, sum, sum); \
	SUB $4, R6

// ROW leaves in F0 the dot product of the row at R1, or of its squares, with the query at R3, and R1 behind the row.
// R4 = k/32, R5 = k mod 32; V0 … V7 are the sums. Lanes of V16 that stand for nothing add +0, which changes no sum: a
// sum that began with +0 is never -0.
#define ROW(FACTOR) \
	VEOR V0.B16, V0.B16, V0.B16; \
	VEOR V1.B16, V1.B16, V1.B16; \
	VEOR V2.B16, V2.B16, V2.B16; \
	VEOR V3.B16, V3.B16, V3.B16; \
	VEOR V4.B16, V4.B16, V4.B16; \
	VEOR V5.B16, V5.B16, V5.B16; \
	VEOR V6.B16, V6.B16, V6.B16; \
	VEOR V7.B16, V7.B16, V7.B16; \
	MOVD R4, R6; \
	CBZ R6, tail; \
products: \
	VLD1.P 64(R1), [V16.S4, V17.S4, V18.S4, V19.S4]; \
	VLD1.P 64(R1), [V20.S4, V21.S4, V22.S4, V23.S4]; \
	VLD1.P 64(R3), [V24.S4, V25.S4, V26.S4, V27.S4]; \
	VLD1.P 64(R3), [V28.S4, V29.S4, V30.S4, V31.S4]; \
	PRODUCTS(16, 17, 24, 25, 0, 1, FACTOR); \
	PRODUCTS(18, 19, 26, 27, 2, 3, FACTOR); \
	PRODUCTS(20, 21, 28, 29, 4, 5, FACTOR); \
	PRODUCTS(22, 23, 30, 31, 6, 7, FACTOR); \
	SUB $1, R6; \
	CBNZ R6, products; \
tail: \
	CBZ R5, fold; \
	MOVD R5, R6; \
	VEOR V16.B16, V16.B16, V16.B16; \
	VEOR V17.B16, V17.B16, V17.B16; \
	AND $~3, R5, R7; \
	ADD R7<<2, R1, R8; \
	ADD R7<<2, R3, R9; \
	ANDS $3, R5, R7; \
	BEQ full; \
	VLD1.P 4(R8), V16.S[0]; \
	VLD1.P 4(R9), V17.S[0]; \
	CMP $2, R7; \
	BLT last; \
	VLD1.P 4(R8), V16.S[1]; \
	VLD1.P 4(R9), V17.S[1]; \
	BEQ last; \
	VLD1.P 4(R8), V16.S[2]; \
	VLD1.P 4(R9), V17.S[2]; \
last: \
	FACTOR(16); \
	FMUL4(17, 16, 16); \
full: \
	TAIL(0, FACTOR); \
	TAIL(1, FACTOR); \
	TAIL(2, FACTOR); \
	TAIL(3, FACTOR); \
	TAIL(4, FACTOR); \
	TAIL(5, FACTOR); \
	TAIL(6, FACTOR); \
	FADD4(16, 7, 7); \
skip: \
	MOVD R8, R1; \
fold: \
	FADD4(4, 0, 0); \
	FADD4(5, 1, 1); \
	FADD4(6, 2, 2); \
	FADD4(7, 3, 3); \
	FADD4(2, 0, 0); \
	FADD4(3, 1, 1); \
	FADD4(1, 0, 0); \
	VEXT $8, V0.B16, V0.B16, V1.B16; \
	FADD4(1, 0, 0); \
	VEXT $4, V0.B16, V0.B16, V1.B16; \
	FADD4(1, 0, 0)

// SCAN stores at R10 the dot product of ROW for each of the R11 rows at R1. R12 is the query, R2 = k.
#define SCAN(FACTOR) \
	LSR $5, R2, R4; \
	AND $31, R2, R5; \
	CBZ R11, done; \
rows: \
	MOVD R12, R3; \
	ROW(FACTOR); \
	FMOVS.P F0, 4(R10); \
	SUB $1, R11; \
	CBNZ R11, rows; \
done:

// func dotNEON(a, b []float32) float32
TEXT ·dotNEON(SB), NOSPLIT, $0-52
	MOVD a_base+0(FP), R1
	MOVD a_len+8(FP), R2
	MOVD b_base+24(FP), R3
	LSR $5, R2, R4
	AND $31, R2, R5
	ROW(ITSELF)
	FMOVS F0, ret+48(FP)
	RET

// func scanNEON(dst, rows, q []float32)
TEXT ·scanNEON(SB), NOSPLIT, $0-72
	MOVD dst_base+0(FP), R10
	MOVD dst_len+8(FP), R11
	MOVD rows_base+24(FP), R1
	MOVD q_base+48(FP), R12
	MOVD q_len+56(FP), R2
	SCAN(ITSELF)
	RET

// func squaresNEON(dst, rows, p []float32)
TEXT ·squaresNEON(SB), NOSPLIT, $0-72
	MOVD dst_base+0(FP), R10
	MOVD dst_len+8(FP), R11
	MOVD rows_base+24(FP), R1
	MOVD p_base+48(FP), R12
	MOVD p_len+56(FP), R2
	SCAN(SQUARED)
	RET

// func scanRowsNEON(dst, rows []float32, numbers []int32, q []float32)
TEXT ·scanRowsNEON(SB), NOSPLIT, $0-96
	MOVD dst_base+0(FP), R10
	MOVD rows_base+24(FP), R13
	MOVD numbers_base+48(FP), R14
	MOVD numbers_len+56(FP), R11
	MOVD q_base+72(FP), R12
	MOVD q_len+80(FP), R2
	LSR $5, R2, R4
	AND $31, R2, R5
	LSL $2, R2
	CBZ R11, done
rows:
	MOVW.P 4(R14), R1
	MUL R2, R1
	ADD R13, R1
	MOVD R12, R3
	ROW(ITSELF)
	FMOVS.P F0, 4(R10)
	SUB $1, R11
	CBNZ R11, rows
done:
	RET
