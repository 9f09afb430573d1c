#include "textflag.h"

// Registers: Y0 … Y7 hold the sums; SI is x, DX the row numbers, CX counts the rows left.

// func sumAVX2(sum, x []float64, rows []int32)
TEXT ·sumAVX2(SB), NOSPLIT, $0-72
	MOVQ sum_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ rows_base+48(FP), DX
	MOVQ rows_len+56(FP), CX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7
	TESTQ CX, CX
	JZ done

loop:
	MOVLQSX (DX), AX
	SHLQ $8, AX // a row has 256 bytes
	VADDPD 0(SI)(AX*1), Y0, Y0
	VADDPD 32(SI)(AX*1), Y1, Y1
	VADDPD 64(SI)(AX*1), Y2, Y2
	VADDPD 96(SI)(AX*1), Y3, Y3
	VADDPD 128(SI)(AX*1), Y4, Y4
	VADDPD 160(SI)(AX*1), Y5, Y5
	VADDPD 192(SI)(AX*1), Y6, Y6
	VADDPD 224(SI)(AX*1), Y7, Y7
	ADDQ $4, DX
	DECQ CX
	JNZ loop

done:
	VMOVUPD Y0, 0(DI)
	VMOVUPD Y1, 32(DI)
	VMOVUPD Y2, 64(DI)
	VMOVUPD Y3, 96(DI)
	VMOVUPD Y4, 128(DI)
	VMOVUPD Y5, 160(DI)
	VMOVUPD Y6, 192(DI)
	VMOVUPD Y7, 224(DI)
	VZEROUPPER
	RET
