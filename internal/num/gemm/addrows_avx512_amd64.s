#include "textflag.h"

// Registers: Z0 … hold the row; SI is dst, DX the row numbers, CX counts the rows left.

// func addAVX512(dst, sum []float64, rows []int32)
TEXT ·addAVX512(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), SI
	MOVQ sum_base+24(FP), DI
	MOVQ rows_base+48(FP), DX
	MOVQ rows_len+56(FP), CX
	VMOVUPD 0(DI), Z0
	VMOVUPD 64(DI), Z1
	VMOVUPD 128(DI), Z2
	VMOVUPD 192(DI), Z3
	TESTQ CX, CX
	JZ done

loop:
	MOVLQSX (DX), AX
	SHLQ $8, AX // a row has 256 bytes
	ADDQ SI, AX
	VADDPD 0(AX), Z0, Z8
	VADDPD 64(AX), Z1, Z9
	VADDPD 128(AX), Z2, Z10
	VADDPD 192(AX), Z3, Z11
	VMOVUPD Z8, 0(AX)
	VMOVUPD Z9, 64(AX)
	VMOVUPD Z10, 128(AX)
	VMOVUPD Z11, 192(AX)
	ADDQ $4, DX
	DECQ CX
	JNZ loop

done:
	VZEROUPPER
	RET
