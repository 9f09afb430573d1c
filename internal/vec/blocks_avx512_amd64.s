#include "go_asm.h"
#include "textflag.h"

// FINISH turns the sums of the two digits into d: 256·high + low + bias. Z31 = bias.
#define FINISH(high, low, off) \
	VPSLLD $8, high, high; \
	VPADDD low, high, high; \
	VPADDD Z31, high, high; \
	VMOVDQU32 high, off(DI)

// COLUMNS adds the products of four columns of all rows.
#define COLUMNS \
	VPBROADCASTD (R9), Z16; \
	VPBROADCASTD (R10), Z17; \
	VMOVDQU32 (SI), Z18; \
	VMOVDQU32 64(SI), Z19; \
	VMOVDQU32 128(SI), Z20; \
	VMOVDQU32 192(SI), Z21; \
	VMOVDQU32 256(SI), Z22; \
	VMOVDQU32 320(SI), Z23; \
	VMOVDQU32 384(SI), Z24; \
	VMOVDQU32 448(SI), Z25; \
	VPDPBUSD Z16, Z18, Z0; \
	VPDPBUSD Z16, Z19, Z1; \
	VPDPBUSD Z16, Z20, Z2; \
	VPDPBUSD Z16, Z21, Z3; \
	VPDPBUSD Z16, Z22, Z4; \
	VPDPBUSD Z16, Z23, Z5; \
	VPDPBUSD Z16, Z24, Z6; \
	VPDPBUSD Z16, Z25, Z7; \
	VPDPBUSD Z17, Z18, Z8; \
	VPDPBUSD Z17, Z19, Z9; \
	VPDPBUSD Z17, Z20, Z10; \
	VPDPBUSD Z17, Z21, Z11; \
	VPDPBUSD Z17, Z22, Z12; \
	VPDPBUSD Z17, Z23, Z13; \
	VPDPBUSD Z17, Z24, Z14; \
	VPDPBUSD Z17, Z25, Z15; \
	ADDQ $512, SI; \
	ADDQ $4, R9; \
	ADDQ $4, R10

// func dotsAVX512(d *[BlockRows]int32, block []byte, q *Digits, next []byte)
//
// Registers:
//	SI             block
//	DX             the next block
//	R9, R10        digits
//	CX             groups of four columns left
//	Z0 … Z7        sums of the high digit, 16 rows a register
//	Z8 … Z15       sums of the low digit
TEXT ·dotsAVX512(SB), NOSPLIT, $0-64
	MOVQ d+0(FP), DI
	MOVQ block_base+8(FP), SI
	MOVQ q+32(FP), BX
	MOVQ Digits_hi(BX), R9
	MOVQ Digits_lo(BX), R10
	MOVQ (Digits_h+8)(BX), CX
	SHRQ $2, CX
	VPBROADCASTD Digits_bias(BX), Z31
	MOVQ next_base+40(FP), DX
	VPXORQ Z0, Z0, Z0
	VPXORQ Z1, Z1, Z1
	VPXORQ Z2, Z2, Z2
	VPXORQ Z3, Z3, Z3
	VPXORQ Z4, Z4, Z4
	VPXORQ Z5, Z5, Z5
	VPXORQ Z6, Z6, Z6
	VPXORQ Z7, Z7, Z7
	VPXORQ Z8, Z8, Z8
	VPXORQ Z9, Z9, Z9
	VPXORQ Z10, Z10, Z10
	VPXORQ Z11, Z11, Z11
	VPXORQ Z12, Z12, Z12
	VPXORQ Z13, Z13, Z13
	VPXORQ Z14, Z14, Z14
	VPXORQ Z15, Z15, Z15
	TESTQ CX, CX
	JZ done
	TESTQ DX, DX
	JZ near
far:
	COLUMNS
	PREFETCHT1 (DX)
	PREFETCHT1 64(DX)
	PREFETCHT1 128(DX)
	PREFETCHT1 192(DX)
	PREFETCHT1 256(DX)
	PREFETCHT1 320(DX)
	PREFETCHT1 384(DX)
	PREFETCHT1 448(DX)
	ADDQ $512, DX
	DECQ CX
	JNZ far
	JMP done
near:
	COLUMNS
	DECQ CX
	JNZ near
done:
	FINISH(Z0, Z8, 0)
	FINISH(Z1, Z9, 64)
	FINISH(Z2, Z10, 128)
	FINISH(Z3, Z11, 192)
	FINISH(Z4, Z12, 256)
	FINISH(Z5, Z13, 320)
	FINISH(Z6, Z14, 384)
	FINISH(Z7, Z15, 448)
	VZEROUPPER
	RET
