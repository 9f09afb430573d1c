#include "textflag.h"

// The body of the NEON kernels for both element types, on tiles of 6 rows by four registers.
//
// Registers:
//	R0             steps left
//	R1 … R6        A's rows; R7 bytes from a column of A to the next
//	R8             B's panel
//	R9             C, R10 bytes from a row of C to the next
//	V0 … V3        a row of B's panel; at the end: of C
//	V4 … V7        elements of A; V4 at the end: alpha
//	V8 … V31       the tile: row i is V(8+4i) … V(11+4i)

// ROW adds the products of an element of A with the row of B.
#define ROW(T, a, c0, c1, c2, c3) \
	VFMLA V0.T, a.T, c0.T; \
	VFMLA V1.T, a.T, c1.T; \
	VFMLA V2.T, a.T, c2.T; \
	VFMLA V3.T, a.T, c3.T

#define ZERO4(c0, c1, c2, c3) \
	VEOR c0.B16, c0.B16, c0.B16; \
	VEOR c1.B16, c1.B16, c1.B16; \
	VEOR c2.B16, c2.B16, c2.B16; \
	VEOR c3.B16, c3.B16, c3.B16

#define ADDROW(T, c0, c1, c2, c3) \
	VLD1 (R9), [V0.T, V1.T, V2.T, V3.T]; \
	VFMLA V4.T, c0.T, V0.T; \
	VFMLA V4.T, c1.T, V1.T; \
	VFMLA V4.T, c2.T, V2.T; \
	VFMLA V4.T, c3.T, V3.T; \
	VST1 [V0.T, V1.T, V2.T, V3.T], (R9); \
	ADD R10, R9

// FETCHROW prefetches a row of C, to which the sums are added at the end.
#define FETCHROW \
	PRFM (R11), PLDL1KEEP; \
	ADD R10, R11

// TILE expects R1 = a, R2 = outer, R7 = inner, R8 = b, R9 = c, R10 = stride, all in elements of
// 1<<SHIFT bytes, R0 = k and R12 = the address of alpha. T is the arrangement of the registers.
#define TILE(T, SHIFT) \
	LSL $SHIFT, R2; \
	LSL $SHIFT, R7; \
	LSL $SHIFT, R10; \
	ADD R2, R2, R4; \
	ADD R1, R4, R3; \
	ADD R2, R3, R4; \
	ADD R2, R4, R5; \
	ADD R2, R5, R6; \
	ADD R1, R2; \
	MOVD R9, R11; \
	FETCHROW; \
	FETCHROW; \
	FETCHROW; \
	FETCHROW; \
	FETCHROW; \
	FETCHROW; \
	ZERO4(V8, V9, V10, V11); \
	ZERO4(V12, V13, V14, V15); \
	ZERO4(V16, V17, V18, V19); \
	ZERO4(V20, V21, V22, V23); \
	ZERO4(V24, V25, V26, V27); \
	ZERO4(V28, V29, V30, V31); \
	CBZ R0, done; \
loop: \
	VLD1.P 64(R8), [V0.T, V1.T, V2.T, V3.T]; \
	VLD1R.P (R1)(R7), [V4.T]; \
	VLD1R.P (R2)(R7), [V5.T]; \
	VLD1R.P (R3)(R7), [V6.T]; \
	VLD1R.P (R4)(R7), [V7.T]; \
	ROW(T, V4, V8, V9, V10, V11); \
	ROW(T, V5, V12, V13, V14, V15); \
	VLD1R.P (R5)(R7), [V4.T]; \
	VLD1R.P (R6)(R7), [V5.T]; \
	ROW(T, V6, V16, V17, V18, V19); \
	ROW(T, V7, V20, V21, V22, V23); \
	ROW(T, V4, V24, V25, V26, V27); \
	ROW(T, V5, V28, V29, V30, V31); \
	SUB $1, R0; \
	CBNZ R0, loop; \
done: \
	VLD1R (R12), [V4.T]; \
	ADDROW(T, V8, V9, V10, V11); \
	ADDROW(T, V12, V13, V14, V15); \
	ADDROW(T, V16, V17, V18, V19); \
	ADDROW(T, V20, V21, V22, V23); \
	ADDROW(T, V24, V25, V26, V27); \
	ADDROW(T, V28, V29, V30, V31)

// func tile32NEON(k int, alpha float32, a []float32, outer, inner int, b, c []float32, stride int, next *ahead[float32])
TEXT ·tile32NEON(SB), NOSPLIT, $0-120
	MOVD k+0(FP), R0
	MOVD $alpha+8(FP), R12
	MOVD a_base+16(FP), R1
	MOVD outer+40(FP), R2
	MOVD inner+48(FP), R7
	MOVD b_base+56(FP), R8
	MOVD c_base+80(FP), R9
	MOVD stride+104(FP), R10
	TILE(S4, 2)
	RET

// func tile64NEON(k int, alpha float64, a []float64, outer, inner int, b, c []float64, stride int, next *ahead[float64])
TEXT ·tile64NEON(SB), NOSPLIT, $0-120
	MOVD k+0(FP), R0
	MOVD $alpha+8(FP), R12
	MOVD a_base+16(FP), R1
	MOVD outer+40(FP), R2
	MOVD inner+48(FP), R7
	MOVD b_base+56(FP), R8
	MOVD c_base+80(FP), R9
	MOVD stride+104(FP), R10
	TILE(D2, 3)
	RET
