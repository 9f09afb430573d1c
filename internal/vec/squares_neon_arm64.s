#include "textflag.h"
#include "neon_arm64.h"

// SQUARES adds to the sums the squares of two registers of the row times two of p.
#define SQUARES(a0, a1, p0, p1, sum0, sum1) \
	FMUL4(a0, a0, a0); \
	FMUL4(a1, a1, a1); \
	FMUL4(p0, a0, a0); \
	FMUL4(p1, a1, a1); \
	FADD4(a0, sum0, sum0); \
	FADD4(a1, sum1, sum1)

// TAIL adds the next four products to sum, or, where fewer than four are left, those in V16, and is then done.
#define TAIL(sum) \
	CMP $4, R6; \
	BLT 8(PC); \
	VLD1.P 16(R1), [V17.S4]; \
	VLD1.P 16(R3), [V18.S4]; \
	FMUL4(17, 17, 17); \
	FMUL4(18, 17, 17); \
	FADD4(17, sum, sum); \
	SUB $4, R6; \
	B 3(PC); \
	FADD4(16, sum, sum); \
	B skip

// func squaresNEON(dst, rows, p []float32)
//
// V0 … V7 are the sums. Lanes of V16 that stand for nothing add +0, which changes no sum: a sum that began with +0 is
// never -0.
TEXT ·squaresNEON(SB), NOSPLIT, $0-72
	MOVD dst_base+0(FP), R10
	MOVD dst_len+8(FP), R11
	MOVD rows_base+24(FP), R1
	MOVD p_base+48(FP), R12
	MOVD p_len+56(FP), R2
	LSR $5, R2, R4
	AND $31, R2, R5
	CBZ R11, done
rows:
	MOVD R12, R3
	VEOR V0.B16, V0.B16, V0.B16
	VEOR V1.B16, V1.B16, V1.B16
	VEOR V2.B16, V2.B16, V2.B16
	VEOR V3.B16, V3.B16, V3.B16
	VEOR V4.B16, V4.B16, V4.B16
	VEOR V5.B16, V5.B16, V5.B16
	VEOR V6.B16, V6.B16, V6.B16
	VEOR V7.B16, V7.B16, V7.B16
	MOVD R4, R6
	CBZ R6, tail
products:
	VLD1.P 64(R1), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1.P 64(R1), [V20.S4, V21.S4, V22.S4, V23.S4]
	VLD1.P 64(R3), [V24.S4, V25.S4, V26.S4, V27.S4]
	VLD1.P 64(R3), [V28.S4, V29.S4, V30.S4, V31.S4]
	SQUARES(16, 17, 24, 25, 0, 1)
	SQUARES(18, 19, 26, 27, 2, 3)
	SQUARES(20, 21, 28, 29, 4, 5)
	SQUARES(22, 23, 30, 31, 6, 7)
	SUB $1, R6
	CBNZ R6, products
tail:
	CBZ R5, fold
	MOVD R5, R6
	VEOR V16.B16, V16.B16, V16.B16
	VEOR V17.B16, V17.B16, V17.B16
	AND $~3, R5, R7
	ADD R7<<2, R1, R8
	ADD R7<<2, R3, R9
	ANDS $3, R5, R7
	BEQ full
	VLD1.P 4(R8), V16.S[0]
	VLD1.P 4(R9), V17.S[0]
	CMP $2, R7
	BLT last
	VLD1.P 4(R8), V16.S[1]
	VLD1.P 4(R9), V17.S[1]
	BEQ last
	VLD1.P 4(R8), V16.S[2]
	VLD1.P 4(R9), V17.S[2]
last:
	FMUL4(16, 16, 16)
	FMUL4(17, 16, 16)
full:
	TAIL(0)
	TAIL(1)
	TAIL(2)
	TAIL(3)
	TAIL(4)
	TAIL(5)
	TAIL(6)
	FADD4(16, 7, 7)
skip:
	MOVD R8, R1
fold:
	FADD4(4, 0, 0)
	FADD4(5, 1, 1)
	FADD4(6, 2, 2)
	FADD4(7, 3, 3)
	FADD4(2, 0, 0)
	FADD4(3, 1, 1)
	FADD4(1, 0, 0)
	VEXT $8, V0.B16, V0.B16, V1.B16
	FADD4(1, 0, 0)
	VEXT $4, V0.B16, V0.B16, V1.B16
	FADD4(1, 0, 0)
	FMOVS.P F0, 4(R10)
	SUB $1, R11
	CBNZ R11, rows
done:
	RET
