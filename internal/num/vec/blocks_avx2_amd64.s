#include "go_asm.h"
#include "textflag.h"

// func dotsAVX2(d *[BlockRows]int32, block []byte, q *Digits, next []byte)
//
// Sixteen rows after the other. Four rows of four columns fill a register as int16; VPMADDWD leaves two sums a row.
//
// Registers:
//	SI             four columns of the sixteen rows; R8 the first of them
//	DX, R10        what is fetched, and the step to what comes after: the next block, or if that is not wanted the next sixteen
//	               rows, which stand too far from each other for the processor to foresee them
//	R9             query
//	CX             groups of four columns left
//	AX             times sixteen rows left
//	Y0 … Y3        sums of rows 0-3, 4-7, 8-11 and 12-15, two a row
TEXT ·dotsAVX2(SB), NOSPLIT, $0-64
	MOVQ d+0(FP), DI
	MOVQ block_base+8(FP), R8
	MOVQ q+32(FP), BX
	VPBROADCASTD Digits_sum(BX), Y15
	VPSLLD $7, Y15, Y15
	MOVQ next_base+40(FP), DX
	MOVQ $64, R10
	MOVQ $8, AX
sixteen:
	MOVQ R8, SI
	CMPQ next_base+40(FP), $0
	JNE fetching
	LEAQ 64(R8), DX
	MOVQ $512, R10
fetching:
	MOVQ Digits_h(BX), R9
	MOVQ (Digits_h+8)(BX), CX
	SHRQ $2, CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	TESTQ CX, CX
	JZ sums
loop:
	VPBROADCASTQ (R9), Y8
	VPMOVZXBW (SI), Y4
	VPMOVZXBW 16(SI), Y5
	VPMOVZXBW 32(SI), Y6
	VPMOVZXBW 48(SI), Y7
	VPMADDWD Y8, Y4, Y4
	VPMADDWD Y8, Y5, Y5
	VPMADDWD Y8, Y6, Y6
	VPMADDWD Y8, Y7, Y7
	PREFETCHT1 (DX)
	VPADDD Y4, Y0, Y0
	VPADDD Y5, Y1, Y1
	VPADDD Y6, Y2, Y2
	VPADDD Y7, Y3, Y3
	ADDQ $512, SI
	ADDQ R10, DX
	ADDQ $8, R9
	DECQ CX
	JNZ loop
sums:
	VPHADDD Y1, Y0, Y0 // rows 0 1 4 5 | 2 3 6 7
	VPHADDD Y3, Y2, Y2
	VPERMQ $0xd8, Y0, Y0
	VPERMQ $0xd8, Y2, Y2
	VPSUBD Y15, Y0, Y0 // 128 stands in each number
	VPSUBD Y15, Y2, Y2
	VMOVDQU Y0, (DI)
	VMOVDQU Y2, 32(DI)
	ADDQ $64, DI
	ADDQ $64, R8
	DECQ AX
	JNZ sixteen
	VZEROUPPER
	RET

// REACH sets the bits of 8 rows. R9, R10: scale and error. R12 collects the bits of all.
#define REACH(i) \
	VCVTDQ2PS (32*i)(SI), Y0; \
	VMULPS (32*i)(R9), Y0, Y0; \
	VMULPS Y12, Y0, Y0; \
	VMULPS (32*i)(R10), Y13, Y1; \
	VADDPS Y14, Y1, Y1; \
	VADDPS Y1, Y0, Y0; \
	VCMPPS $13, Y15, Y0, Y0; \
	VMOVMSKPS Y0, AX; \
	MOVB AX, (i)(DI); \
	ORL AX, R12

// func reachAVX2(masks *[masksOfBlock]uint16, d *[BlockRows]int32, b *Bounds, floor float32) bool
TEXT ·reachAVX2(SB), NOSPLIT, $0-33
	MOVQ masks+0(FP), DI
	MOVQ d+8(FP), SI
	MOVQ b+16(FP), BX
	MOVQ Bounds_Scale(BX), R9
	MOVQ Bounds_Error(BX), R10
	VBROADCASTSS Bounds_Step(BX), Y12
	VBROADCASTSS Bounds_Norm(BX), Y13
	VBROADCASTSS Bounds_Margin(BX), Y14
	VBROADCASTSS floor+24(FP), Y15
	XORL R12, R12
	REACH(0)
	REACH(1)
	REACH(2)
	REACH(3)
	REACH(4)
	REACH(5)
	REACH(6)
	REACH(7)
	REACH(8)
	REACH(9)
	REACH(10)
	REACH(11)
	REACH(12)
	REACH(13)
	REACH(14)
	REACH(15)
	TESTL R12, R12
	SETNE ret+32(FP)
	VZEROUPPER
	RET
