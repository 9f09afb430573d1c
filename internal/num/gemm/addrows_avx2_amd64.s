#include "textflag.h"

// Registers: Y0 … hold the row; SI is dst, DX the row numbers, CX counts the rows left.

// func addAVX2(dst, sum []float64, rows []int32)
TEXT ·addAVX2(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), SI
	MOVQ sum_base+24(FP), DI
	MOVQ rows_base+48(FP), DX
	MOVQ rows_len+56(FP), CX
	VMOVUPD 0(DI), Y0
	VMOVUPD 32(DI), Y1
	VMOVUPD 64(DI), Y2
	VMOVUPD 96(DI), Y3
	VMOVUPD 128(DI), Y4
	VMOVUPD 160(DI), Y5
	VMOVUPD 192(DI), Y6
	VMOVUPD 224(DI), Y7
	TESTQ CX, CX
	JZ done

loop:
	MOVLQSX (DX), AX
	SHLQ $8, AX // a row has 256 bytes
	ADDQ SI, AX
	VADDPD 0(AX), Y0, Y8
	VADDPD 32(AX), Y1, Y9
	VADDPD 64(AX), Y2, Y10
	VADDPD 96(AX), Y3, Y11
	VADDPD 128(AX), Y4, Y12
	VADDPD 160(AX), Y5, Y13
	VADDPD 192(AX), Y6, Y14
	VADDPD 224(AX), Y7, Y15
	VMOVUPD Y8, 0(AX)
	VMOVUPD Y9, 32(AX)
	VMOVUPD Y10, 64(AX)
	VMOVUPD Y11, 96(AX)
	VMOVUPD Y12, 128(AX)
	VMOVUPD Y13, 160(AX)
	VMOVUPD Y14, 192(AX)
	VMOVUPD Y15, 224(AX)
	ADDQ $4, DX
	DECQ CX
	JNZ loop

done:
	VZEROUPPER
	RET
