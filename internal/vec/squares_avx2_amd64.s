#include "textflag.h"

// laneMasks holds 32 lanes of ones and 32 of zeros: read from lane 32-c on, the first c lanes are ones.
DATA laneMasks<>+0x00(SB)/8, $-1
DATA laneMasks<>+0x08(SB)/8, $-1
DATA laneMasks<>+0x10(SB)/8, $-1
DATA laneMasks<>+0x18(SB)/8, $-1
DATA laneMasks<>+0x20(SB)/8, $-1
DATA laneMasks<>+0x28(SB)/8, $-1
DATA laneMasks<>+0x30(SB)/8, $-1
DATA laneMasks<>+0x38(SB)/8, $-1
DATA laneMasks<>+0x40(SB)/8, $-1
DATA laneMasks<>+0x48(SB)/8, $-1
DATA laneMasks<>+0x50(SB)/8, $-1
DATA laneMasks<>+0x58(SB)/8, $-1
DATA laneMasks<>+0x60(SB)/8, $-1
DATA laneMasks<>+0x68(SB)/8, $-1
DATA laneMasks<>+0x70(SB)/8, $-1
DATA laneMasks<>+0x78(SB)/8, $-1
GLOBL laneMasks<>(SB), RODATA|NOPTR, $256

// SQUARES adds the eight products off/4 … off/4+7 of the row at SI and the numbers at R10 to sum.
#define SQUARES(off, sum) \
	VMOVUPS off(SI), Y4; \
	VMULPS Y4, Y4, Y4; \
	VMULPS off(R10), Y4, Y4; \
	VADDPS Y4, sum, sum

// TAIL is SQUARES for the lanes that the mask at R11 leaves in. The others add +0, which changes no sum: a sum that began
// with +0 is never -0.
#define TAIL(off, sum) \
	VMOVDQU off(R11), Y8; \
	VMASKMOVPS off(SI), Y8, Y4; \
	VMASKMOVPS off(R10), Y8, Y5; \
	VMULPS Y4, Y4, Y4; \
	VMULPS Y5, Y4, Y4; \
	VADDPS Y4, sum, sum

// func squaresAVX2(dst, rows, p []float32)
//
// Y0 … Y3 are the sums (lanes 0-7, 8-15, 16-23, 24-31).
TEXT ·squaresAVX2(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), AX
	MOVQ rows_base+24(FP), SI
	MOVQ p_base+48(FP), DX
	MOVQ p_len+56(FP), BX
	MOVQ BX, R8 // k/32
	SHRQ $5, R8
	MOVQ BX, CX // k mod 32, with its masks at R11
	ANDQ $31, CX
	MOVQ CX, R12
	NEGQ R12
	LEAQ laneMasks<>+128(SB), R11
	LEAQ (R11)(R12*4), R11
	TESTQ AX, AX
	JZ done
rows:
	MOVQ DX, R10
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	MOVQ R8, R9
	TESTQ R9, R9
	JZ tail
products:
	SQUARES(0, Y0)
	SQUARES(32, Y1)
	SQUARES(64, Y2)
	SQUARES(96, Y3)
	ADDQ $128, SI
	ADDQ $128, R10
	DECQ R9
	JNZ products
tail:
	TESTQ CX, CX
	JZ fold
	TAIL(0, Y0)
	TAIL(32, Y1)
	TAIL(64, Y2)
	TAIL(96, Y3)
	LEAQ (SI)(CX*4), SI
fold:
	VADDPS Y2, Y0, Y0
	VADDPS Y3, Y1, Y1
	VADDPS Y1, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VADDPS X1, X0, X0
	VPERMILPD $1, X0, X1
	VADDPS X1, X0, X0
	VMOVSHDUP X0, X1
	VADDSS X1, X0, X0
	VMOVSS X0, (DI)
	ADDQ $4, DI
	DECQ AX
	JNZ rows
done:
	VZEROUPPER
	RET
