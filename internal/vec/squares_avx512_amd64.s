#include "textflag.h"

// func squaresAVX512(dst, rows, p []float32)
//
// Z0 and Z1 are the sums (lanes 0-15 and 16-31). The lanes that the masks leave out add +0, which changes no sum: a sum that
// began with +0 is never -0.
TEXT ·squaresAVX512(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), AX
	MOVQ rows_base+24(FP), SI
	MOVQ p_base+48(FP), DX
	MOVQ p_len+56(FP), BX
	MOVQ BX, R8 // k/32
	SHRQ $5, R8
	MOVQ BX, CX // k mod 32, with its lanes in K1 and K2
	ANDQ $31, CX
	MOVQ $1, R11
	SHLQ CX, R11
	DECQ R11
	KMOVW R11, K1
	SHRQ $16, R11
	KMOVW R11, K2
	TESTQ AX, AX
	JZ done
rows:
	MOVQ DX, R10
	VPXORQ Z0, Z0, Z0
	VPXORQ Z1, Z1, Z1
	MOVQ R8, R9
	TESTQ R9, R9
	JZ tail
products:
	VMOVUPS (SI), Z2
	VMOVUPS 64(SI), Z3
	VMULPS Z2, Z2, Z2
	VMULPS Z3, Z3, Z3
	VMULPS (R10), Z2, Z2
	VMULPS 64(R10), Z3, Z3
	VADDPS Z2, Z0, Z0
	VADDPS Z3, Z1, Z1
	ADDQ $128, SI
	ADDQ $128, R10
	DECQ R9
	JNZ products
tail:
	TESTQ CX, CX
	JZ fold
	VMOVUPS.Z (SI), K1, Z2
	VMOVUPS.Z 64(SI), K2, Z3
	VMOVUPS.Z (R10), K1, Z4
	VMOVUPS.Z 64(R10), K2, Z5
	VMULPS Z2, Z2, Z2
	VMULPS Z3, Z3, Z3
	VMULPS Z4, Z2, Z2
	VMULPS Z5, Z3, Z3
	VADDPS Z2, Z0, Z0
	VADDPS Z3, Z1, Z1
	LEAQ (SI)(CX*4), SI
fold:
	VADDPS Z1, Z0, Z0
	VEXTRACTF64X4 $1, Z0, Y1
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
