#include "textflag.h"

// Registers: SI is x, DI dst. DX points to the rows of a set, R12 counts the rows left; R13 and R14
// are the same for the second pass. R9 points to the ends of the sets, R10 to their weights; R11
// counts the sets left. Z0 … Z7 hold sums of every fourth row,
// Z8 and Z9 the sum to add. The first pass prefetches the rows of dst for the second one.

// func pairs32AVX512(dst, x []float32, rows []int32, ends []int64, weights []float32)
TEXT ·pairs32AVX512(SB), NOSPLIT, $0-120
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
	VPXORQ Z0, Z0, Z0
	VPXORQ Z1, Z1, Z1
	VPXORQ Z2, Z2, Z2
	VPXORQ Z3, Z3, Z3
	VPXORQ Z4, Z4, Z4
	VPXORQ Z5, Z5, Z5
	VPXORQ Z6, Z6, Z6
	VPXORQ Z7, Z7, Z7
	SUBQ $4, R12
	JLT sumTail

sumLoop:
	MOVLQSX 0(DX), AX
	MOVLQSX 4(DX), BX
	MOVLQSX 8(DX), CX
	MOVLQSX 12(DX), R8
	SHLQ $7, AX // a row has 128 bytes
	SHLQ $7, BX
	SHLQ $7, CX
	SHLQ $7, R8
	VADDPS 0(SI)(AX*1), Z0, Z0
	VADDPS 64(SI)(AX*1), Z1, Z1
	VADDPS 0(SI)(BX*1), Z2, Z2
	VADDPS 64(SI)(BX*1), Z3, Z3
	VADDPS 0(SI)(CX*1), Z4, Z4
	VADDPS 64(SI)(CX*1), Z5, Z5
	VADDPS 0(SI)(R8*1), Z6, Z6
	VADDPS 64(SI)(R8*1), Z7, Z7
	PREFETCHT0 0(DI)(AX*1)
	PREFETCHT0 64(DI)(AX*1)
	PREFETCHT0 0(DI)(BX*1)
	PREFETCHT0 64(DI)(BX*1)
	PREFETCHT0 0(DI)(CX*1)
	PREFETCHT0 64(DI)(CX*1)
	PREFETCHT0 0(DI)(R8*1)
	PREFETCHT0 64(DI)(R8*1)
	ADDQ $16, DX
	SUBQ $4, R12
	JGE sumLoop

sumTail:
	ADDQ $4, R12
	JZ scale

sumOne:
	MOVLQSX (DX), AX
	SHLQ $7, AX
	VADDPS 0(SI)(AX*1), Z0, Z0
	VADDPS 64(SI)(AX*1), Z1, Z1
	PREFETCHT0 0(DI)(AX*1)
	PREFETCHT0 64(DI)(AX*1)
	ADDQ $4, DX
	DECQ R12
	JNZ sumOne

scale:
	VADDPS Z2, Z0, Z0
	VADDPS Z3, Z1, Z1
	VADDPS Z6, Z4, Z4
	VADDPS Z7, Z5, Z5
	VADDPS Z4, Z0, Z0
	VADDPS Z5, Z1, Z1
	VBROADCASTSS (R10), Z9
	ADDQ $4, R10
	VMULPS Z9, Z0, Z8
	VMULPS Z9, Z1, Z9
	TESTQ R14, R14
	JZ next

addLoop:
	MOVLQSX (R13), AX
	SHLQ $7, AX
	ADDQ DI, AX
	VADDPS 0(AX), Z8, Z0
	VADDPS 64(AX), Z9, Z1
	VMOVUPS Z0, 0(AX)
	VMOVUPS Z1, 64(AX)
	ADDQ $4, R13
	DECQ R14
	JNZ addLoop

next:
	DECQ R11
	JNZ set

done:
	VZEROUPPER
	RET
