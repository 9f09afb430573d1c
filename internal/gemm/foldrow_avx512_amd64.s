#include "textflag.h"

// Registers: Z0 … Z1 hold next; Z8 … Z10 the factors a, b, c; DI is next, SI x, DX e and CX sum.

// func foldAVX512(next, x, e, sum *[FoldWidth]float64, a, b, c float64)
TEXT ·foldAVX512(SB), NOSPLIT, $0-56
	MOVQ next+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ e+16(FP), DX
	MOVQ sum+24(FP), CX
	VBROADCASTSD a+32(FP), Z8
	VBROADCASTSD b+40(FP), Z9
	VBROADCASTSD c+48(FP), Z10
	VMULPD 0(SI), Z8, Z0
	VMULPD 64(SI), Z8, Z1
	VFMADD231PD 0(DX), Z9, Z0
	VFMADD231PD 64(DX), Z9, Z1
	VMOVUPD Z0, 0(DI)
	VMOVUPD Z1, 64(DI)
	VFMADD213PD 0(CX), Z10, Z0
	VFMADD213PD 64(CX), Z10, Z1
	VMOVUPD Z0, 0(CX)
	VMOVUPD Z1, 64(CX)
	VZEROUPPER
	RET
