#include "textflag.h"

// Registers: Z0 … Z3 hold the sums; SI is x, DX the row numbers, CX counts the rows left.

// func sumAVX512(sum, x []float64, rows []int32)
TEXT ·sumAVX512(SB), NOSPLIT, $0-72
	MOVQ sum_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ rows_base+48(FP), DX
	MOVQ rows_len+56(FP), CX
	VPXORQ Z0, Z0, Z0
	VPXORQ Z1, Z1, Z1
	VPXORQ Z2, Z2, Z2
	VPXORQ Z3, Z3, Z3
	TESTQ CX, CX
	JZ done

loop:
	MOVLQSX (DX), AX
	SHLQ $8, AX // a row has 256 bytes
	VADDPD 0(SI)(AX*1), Z0, Z0
	VADDPD 64(SI)(AX*1), Z1, Z1
	VADDPD 128(SI)(AX*1), Z2, Z2
	VADDPD 192(SI)(AX*1), Z3, Z3
	ADDQ $4, DX
	DECQ CX
	JNZ loop

done:
	VMOVUPD Z0, 0(DI)
	VMOVUPD Z1, 64(DI)
	VMOVUPD Z2, 128(DI)
	VMOVUPD Z3, 192(DI)
	VZEROUPPER
	RET
