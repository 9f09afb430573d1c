#include "textflag.h"
#include "scan_amd64.h"

// FACTOR is one of these two: what the numbers of a row become before they are multiplied with the query.
#define ITSELF(x)
#define SQUARED(x) VMULPS x, x, x

// ROW leaves in X0 the dot product of the row at SI, or of its squares, with the query at R10, and SI behind the row.
// R8 = k/32, CX = k mod 32 with its lanes in K1 and K2; Z0 and Z1 are the sums (lanes 0-15 and 16-31). The lanes that a
// mask leaves out add +0, which changes no sum: a sum that began with +0 is never -0.
#define ROW(FACTOR) \
	VPXORQ Z0, Z0, Z0; \
	VPXORQ Z1, Z1, Z1; \
	MOVQ R8, R9; \
	TESTQ R9, R9; \
	JZ tail; \
products: \
	VMOVUPS (SI), Z2; \
	VMOVUPS 64(SI), Z3; \
	FACTOR(Z2); \
	FACTOR(Z3); \
	VMULPS (R10), Z2, Z2; \
	VMULPS 64(R10), Z3, Z3; \
	VADDPS Z2, Z0, Z0; \
	VADDPS Z3, Z1, Z1; \
	ADDQ $128, SI; \
	ADDQ $128, R10; \
	DECQ R9; \
	JNZ products; \
tail: \
	TESTQ CX, CX; \
	JZ fold; \
	VMOVUPS.Z (SI), K1, Z2; \
	VMOVUPS.Z 64(SI), K2, Z3; \
	VMOVUPS.Z (R10), K1, Z4; \
	VMOVUPS.Z 64(R10), K2, Z5; \
	FACTOR(Z2); \
	FACTOR(Z3); \
	VMULPS Z4, Z2, Z2; \
	VMULPS Z5, Z3, Z3; \
	VADDPS Z2, Z0, Z0; \
	VADDPS Z3, Z1, Z1; \
	LEAQ (SI)(CX*4), SI; \
fold: \
	VADDPS Z1, Z0, Z0; \
	VEXTRACTF64X4 $1, Z0, Y1; \
	VADDPS Y1, Y0, Y0; \
	VEXTRACTF128 $1, Y0, X1; \
	VADDPS X1, X0, X0; \
	VPERMILPD $1, X0, X1; \
	VADDPS X1, X0, X0; \
	VMOVSHDUP X0, X1; \
	VADDSS X1, X0, X0

// MASKS expects BX = k and sets R8, CX, K1 and K2 for ROW.
#define MASKS \
	MOVQ BX, R8; \
	SHRQ $5, R8; \
	MOVQ BX, CX; \
	ANDQ $31, CX; \
	MOVQ $1, R11; \
	SHLQ CX, R11; \
	DECQ R11; \
	KMOVW R11, K1; \
	SHRQ $16, R11; \
	KMOVW R11, K2

// func dotAVX512(a, b []float32) float32
TEXT ·dotAVX512(SB), NOSPLIT, $0-52
	MOVQ a_base+0(FP), SI
	MOVQ a_len+8(FP), BX
	MOVQ b_base+24(FP), R10
	MASKS
	ROW(ITSELF)
	VMOVSS X0, ret+48(FP)
	VZEROUPPER
	RET

// func scanAVX512(dst, rows, q []float32)
TEXT ·scanAVX512(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), AX
	MOVQ rows_base+24(FP), SI
	MOVQ q_base+48(FP), DX
	MOVQ q_len+56(FP), BX
	SCAN(ITSELF)
	RET

// func squaresAVX512(dst, rows, p []float32)
TEXT ·squaresAVX512(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), AX
	MOVQ rows_base+24(FP), SI
	MOVQ p_base+48(FP), DX
	MOVQ p_len+56(FP), BX
	SCAN(SQUARED)
	RET

// func scanRowsAVX512(dst, rows []float32, numbers []int32, q []float32)
//
// The third row after the one at work is fetched meanwhile: rows stand here and there.
TEXT ·scanRowsAVX512(SB), NOSPLIT, $0-96
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), AX
	MOVQ rows_base+24(FP), R13
	MOVQ numbers_base+48(FP), R12
	MOVQ q_base+72(FP), DX
	MOVQ q_len+80(FP), BX
	MASKS
	SHLQ $2, BX // bytes of a row
	TESTQ AX, AX
	JZ done
rows:
	MOVLQSX (R12), SI
	IMULQ BX, SI
	ADDQ R13, SI
	CMPQ AX, $3
	JLE last
	MOVLQSX 12(R12), R10
	IMULQ BX, R10
	ADDQ R13, R10
	LEAQ (R10)(BX*1), R11
fetch:
	PREFETCHT0 (R10)
	ADDQ $64, R10
	CMPQ R10, R11
	JLT fetch
last:
	MOVQ DX, R10
	ROW(ITSELF)
	VMOVSS X0, (DI)
	ADDQ $4, DI
	ADDQ $4, R12
	DECQ AX
	JNZ rows
done:
	VZEROUPPER
	RET
