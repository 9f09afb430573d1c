#include "textflag.h"

// Registers: SI is x, DI dst. DX points to the rows of a set, R12 counts the rows left; R13 and R14
// are the same for the second pass. R9 points to the ends of the sets, R10 to their weights; R11
// counts the sets left. Y0 … Y7 hold sums of every second row,
// Y8 … Y11 the sum to add. The first pass prefetches the rows of dst for the second one.

// func pairs32AVX2(dst, x []float32, rows []int32, ends []int64, weights []float32)
TEXT ·pairs32AVX2(SB), NOSPLIT, $0-120
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ rows_base+48(FP), DX
	MOVQ ends_base+72(FP), R9
	MOVQ weights_base+96(FP), R10
	MOVQ weights_len+104(FP), R11
	TESTQ R11, R11
	JZ done
	MOVQ (R9), AX
	LEAQ (DX)(AX*4), DX

set:
	MOVQ 8(R9), R12
	SUBQ (R9), R12
	ADDQ $8, R9
	MOVQ DX, R13
	MOVQ R12, R14
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7
	SUBQ $2, R12
	JLT sumTail

sumLoop:
	MOVLQSX 0(DX), AX
	MOVLQSX 4(DX), BX
	SHLQ $7, AX // a row has 128 bytes
	SHLQ $7, BX
	VADDPS 0(SI)(AX*1), Y0, Y0
	VADDPS 32(SI)(AX*1), Y1, Y1
	VADDPS 64(SI)(AX*1), Y2, Y2
	VADDPS 96(SI)(AX*1), Y3, Y3
	VADDPS 0(SI)(BX*1), Y4, Y4
	VADDPS 32(SI)(BX*1), Y5, Y5
	VADDPS 64(SI)(BX*1), Y6, Y6
	VADDPS 96(SI)(BX*1), Y7, Y7
	PREFETCHT0 0(DI)(AX*1)
	PREFETCHT0 64(DI)(AX*1)
	PREFETCHT0 0(DI)(BX*1)
	PREFETCHT0 64(DI)(BX*1)
	ADDQ $8, DX
	SUBQ $2, R12
	JGE sumLoop

sumTail:
	ADDQ $2, R12
	JZ scale
	MOVLQSX (DX), AX
	SHLQ $7, AX
	VADDPS 0(SI)(AX*1), Y0, Y0
	VADDPS 32(SI)(AX*1), Y1, Y1
	VADDPS 64(SI)(AX*1), Y2, Y2
	VADDPS 96(SI)(AX*1), Y3, Y3
	PREFETCHT0 0(DI)(AX*1)
	PREFETCHT0 64(DI)(AX*1)
	ADDQ $4, DX

scale:
	VBROADCASTSS (R10), Y12
	ADDQ $4, R10
	VADDPS Y4, Y0, Y0
	VADDPS Y5, Y1, Y1
	VADDPS Y6, Y2, Y2
	VADDPS Y7, Y3, Y3
	VMULPS Y12, Y0, Y8
	VMULPS Y12, Y1, Y9
	VMULPS Y12, Y2, Y10
	VMULPS Y12, Y3, Y11
	TESTQ R14, R14
	JZ next

addLoop:
	MOVLQSX (R13), AX
	SHLQ $7, AX
	ADDQ DI, AX
	VADDPS 0(AX), Y8, Y0
	VADDPS 32(AX), Y9, Y1
	VADDPS 64(AX), Y10, Y2
	VADDPS 96(AX), Y11, Y3
	VMOVUPS Y0, 0(AX)
	VMOVUPS Y1, 32(AX)
	VMOVUPS Y2, 64(AX)
	VMOVUPS Y3, 96(AX)
	ADDQ $4, R13
	DECQ R14
	JNZ addLoop

next:
	DECQ R11
	JNZ set

done:
	VZEROUPPER
	RET
