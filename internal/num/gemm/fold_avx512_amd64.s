#include "textflag.h"

// Registers: Z0, Z1 hold y, Z2, Z3 the current row, Z4 … Z6 the factors A, B, C. R8 is the place of
// the next kept row, 0 if none is kept. SI is x, DX sum, BX the step, R9 the last step, R10 the
// step whose rows are prefetched. A step has 20 bytes, a row 128.

// func foldAVX512(kept, x, sum []FoldRow, steps []FoldStep)
TEXT ·foldAVX512(SB), NOSPLIT, $0-96
	MOVQ kept_base+0(FP), R8
	MOVQ x_base+24(FP), SI
	MOVQ sum_base+48(FP), DX
	MOVQ steps_base+72(FP), BX
	MOVQ steps_len+80(FP), CX
	IMUL3Q $20, CX, R9
	LEAQ -20(BX)(R9*1), R9
	VXORPS Z0, Z0, Z0
	VXORPS Z1, Z1, Z1

step:
	LEAQ 240(BX), R10
	CMPQ R10, R9
	CMOVQHI R9, R10
	MOVLQSX 0(R10), R11
	SHLQ $7, R11
	PREFETCHT0 0(SI)(R11*1)
	PREFETCHT0 64(SI)(R11*1)
	MOVLQSX 4(R10), R11
	SHLQ $7, R11
	PREFETCHT0 0(DX)(R11*1)
	PREFETCHT0 64(DX)(R11*1)

	MOVLQSX 0(BX), R11
	MOVLQSX 4(BX), R12
	SHLQ $7, R11
	SHLQ $7, R12
	VBROADCASTSS 8(BX), Z4
	VBROADCASTSS 12(BX), Z5
	VBROADCASTSS 16(BX), Z6
	VMULPS 0(SI)(R11*1), Z5, Z2
	VMULPS 64(SI)(R11*1), Z5, Z3
	VFMADD213PS Z2, Z4, Z0
	VFMADD213PS Z3, Z4, Z1
	VMOVUPS 0(DX)(R12*1), Z2
	VMOVUPS 64(DX)(R12*1), Z3
	VFMADD231PS Z0, Z6, Z2
	VFMADD231PS Z1, Z6, Z3
	VMOVUPS Z2, 0(DX)(R12*1)
	VMOVUPS Z3, 64(DX)(R12*1)
	TESTQ R8, R8
	JZ next
	VMOVUPS Z0, 0(R8)
	VMOVUPS Z1, 64(R8)
	ADDQ $128, R8

next:
	ADDQ $20, BX
	DECQ CX
	JNZ step
	VZEROUPPER
	RET
