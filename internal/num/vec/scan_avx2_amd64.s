#include "textflag.h"
#include "scan_amd64.h"

// tailMasks holds 32 lanes of ones and 32 of zeros: read from lane 32-c on, the first c lanes are ones.
DATA tailMasks<>+0x00(SB)/8, $-1
DATA tailMasks<>+0x08(SB)/8, $-1
DATA tailMasks<>+0x10(SB)/8, $-1
DATA tailMasks<>+0x18(SB)/8, $-1
DATA tailMasks<>+0x20(SB)/8, $-1
DATA tailMasks<>+0x28(SB)/8, $-1
DATA tailMasks<>+0x30(SB)/8, $-1
DATA tailMasks<>+0x38(SB)/8, $-1
DATA tailMasks<>+0x40(SB)/8, $-1
DATA tailMasks<>+0x48(SB)/8, $-1
DATA tailMasks<>+0x50(SB)/8, $-1
DATA tailMasks<>+0x58(SB)/8, $-1
DATA tailMasks<>+0x60(SB)/8, $-1
DATA tailMasks<>+0x68(SB)/8, $-1
DATA tailMasks<>+0x70(SB)/8, $-1
DATA tailMasks<>+0x78(SB)/8, $-1
GLOBL tailMasks<>(SB), RODATA|NOPTR, $256

// FACTOR is one of these two: what the numbers of a row become before they are multiplied with the query.
#define ITSELF(x)
#define SQUARED(x) VMULPS x, x, x

// TAIL adds the products of the lanes off/4 … off/4+7 that the mask leaves in.
#define TAIL(off, sum, FACTOR) \
	VMOVDQU off(R11), Y8; \
	VMASKMOVPS off(SI), Y8, Y4; \
	VMASKMOVPS off(R10), Y8, Y5; \
	FACTOR(Y4); \
	VMULPS Y5, Y4, Y4; \
	VADDPS Y4, sum, sum

// ROW leaves in X0 the dot product of the row at SI, or of its squares, with the query at R10, and SI behind the row.
// R8 = k/32, CX = k mod 32, R11 = its masks; Y0 … Y3 are the sums (lanes 0-7, 8-15, 16-23, 24-31). The lanes that a
// mask leaves out add +0, which changes no sum: a sum that began with +0 is never -0.
#define ROW(FACTOR) \
	VXORPS Y0, Y0, Y0; \
	VXORPS Y1, Y1, Y1; \
	VXORPS Y2, Y2, Y2; \
	VXORPS Y3, Y3, Y3; \
	MOVQ R8, R9; \
	TESTQ R9, R9; \
	JZ tail; \
products: \
	VMOVUPS (SI), Y4; \
	VMOVUPS 32(SI), Y5; \
	VMOVUPS 64(SI), Y6; \
	VMOVUPS 96(SI), Y7; \
	FACTOR(Y4); \
	FACTOR(Y5); \
	FACTOR(Y6); \
	FACTOR(Y7); \
	VMULPS (R10), Y4, Y4; \
	VMULPS 32(R10), Y5, Y5; \
	VMULPS 64(R10), Y6, Y6; \
	VMULPS 96(R10), Y7, Y7; \
	VADDPS Y4, Y0, Y0; \
	VADDPS Y5, Y1, Y1; \
	VADDPS Y6, Y2, Y2; \
	VADDPS Y7, Y3, Y3; \
	ADDQ $128, SI; \
	ADDQ $128, R10; \
	DECQ R9; \
	JNZ products; \
tail: \
	TESTQ CX, CX; \
	JZ fold; \
	TAIL(0, Y0, FACTOR); \
	TAIL(32, Y1, FACTOR); \
	TAIL(64, Y2, FACTOR); \
	TAIL(96, Y3, FACTOR); \
	LEAQ (SI)(CX*4), SI; \
fold: \
	VADDPS Y2, Y0, Y0; \
	VADDPS Y3, Y1, Y1; \
	VADDPS Y1, Y0, Y0; \
	VEXTRACTF128 $1, Y0, X1; \
	VADDPS X1, X0, X0; \
	VPERMILPD $1, X0, X1; \
	VADDPS X1, X0, X0; \
	VMOVSHDUP X0, X1; \
	VADDSS X1, X0, X0

// MASKS expects BX = k and sets R8, CX and R11 for ROW.
#define MASKS \
	MOVQ BX, R8; \
	SHRQ $5, R8; \
	MOVQ BX, CX; \
	ANDQ $31, CX; \
	MOVQ CX, R12; \
	NEGQ R12; \
	LEAQ tailMasks<>+128(SB), R11; \
	LEAQ (R11)(R12*4), R11

// func dotAVX2(a, b []float32) float32
TEXT ·dotAVX2(SB), NOSPLIT, $0-52
	MOVQ a_base+0(FP), SI
	MOVQ a_len+8(FP), BX
	MOVQ b_base+24(FP), R10
	MASKS
	ROW(ITSELF)
	VMOVSS X0, ret+48(FP)
	VZEROUPPER
	RET

// func scanAVX2(dst, rows, q []float32)
TEXT ·scanAVX2(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), AX
	MOVQ rows_base+24(FP), SI
	MOVQ q_base+48(FP), DX
	MOVQ q_len+56(FP), BX
	SCAN(ITSELF)
	RET

// func squaresAVX2(dst, rows, p []float32)
TEXT ·squaresAVX2(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), AX
	MOVQ rows_base+24(FP), SI
	MOVQ p_base+48(FP), DX
	MOVQ p_len+56(FP), BX
	SCAN(SQUARED)
	RET

// func scanRowsAVX2(dst, rows []float32, numbers []int32, q []float32)
//
// The row after the one at work is fetched meanwhile: rows stand here and there.
TEXT ·scanRowsAVX2(SB), NOSPLIT, $0-96
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), AX
	MOVQ rows_base+24(FP), R13
	MOVQ numbers_base+48(FP), R15
	MOVQ q_base+72(FP), DX
	MOVQ q_len+80(FP), BX
	MASKS
	SHLQ $2, BX // bytes of a row
	TESTQ AX, AX
	JZ done
rows:
	MOVLQSX (R15), SI
	IMULQ BX, SI
	ADDQ R13, SI
	CMPQ AX, $1
	JEQ last
	MOVLQSX 4(R15), R10
	IMULQ BX, R10
	ADDQ R13, R10
	LEAQ (R10)(BX*1), R12
fetch:
	PREFETCHT0 (R10)
	ADDQ $64, R10
	CMPQ R10, R12
	JLT fetch
last:
	MOVQ DX, R10
	ROW(ITSELF)
	VMOVSS X0, (DI)
	ADDQ $4, DI
	ADDQ $4, R15
	DECQ AX
	JNZ rows
done:
	VZEROUPPER
	RET
