#include "go_asm.h"
#include "textflag.h"

// LEAVE takes 16 candidates from place CX on, or those of K2, and writes those who reach the floor to place DX. It only writes
// where everything has been read.
#define LEAVE \
	VCMPPS $13, Z31, Z2, K2, K1; \
	VCOMPRESSPS Z2, K1, Z2; \
	VCOMPRESSPS Z3, K1, Z3; \
	VPCOMPRESSD Z4, K1, Z4; \
	KMOVW K1, AX; \
	POPCNTL AX, AX

// func dropAVX512(c *Candidates, floor float32) int
//
// Registers:
//	R11, R12, R13  place, low, high
//	BX             how many
//	CX, DX         read and written so far
//	K2             which of the 16 there are
TEXT ·dropAVX512(SB), NOSPLIT, $0-24
	MOVQ c+0(FP), DI
	VBROADCASTSS floor+8(FP), Z31
	MOVQ Candidates_Place(DI), R11
	MOVQ Candidates_Low(DI), R12
	MOVQ Candidates_High(DI), R13
	MOVQ (Candidates_Place+8)(DI), BX
	XORL CX, CX
	XORL DX, DX
	MOVL $0xffff, R8
	KMOVW R8, K2
	SUBQ $16, BX
	JLT rest
more:
	VMOVUPS (R13)(CX*4), Z2
	VMOVUPS (R12)(CX*4), Z3
	VMOVDQU32 (R11)(CX*4), Z4
	LEAVE
	VMOVUPS Z2, (R13)(DX*4)
	VMOVUPS Z3, (R12)(DX*4)
	VMOVDQU32 Z4, (R11)(DX*4)
	ADDQ AX, DX
	ADDQ $16, CX
	SUBQ $16, BX
	JGE more
rest:
	ADDQ $16, BX
	JZ done
	BZHIL BX, R8, R8
	KMOVW R8, K2
	VMOVUPS.Z (R13)(CX*4), K2, Z2
	VMOVUPS.Z (R12)(CX*4), K2, Z3
	VMOVDQU32.Z (R11)(CX*4), K2, Z4
	LEAVE
	VMOVUPS Z2, K2, (R13)(DX*4)
	VMOVUPS Z3, K2, (R12)(DX*4)
	VMOVDQU32 Z4, K2, (R11)(DX*4)
	ADDQ AX, DX
done:
	MOVQ DX, ret+16(FP)
	VZEROUPPER
	RET

// func countAVX512(v []float32, floor float32) int
TEXT ·countAVX512(SB), NOSPLIT, $0-40
	MOVQ v_base+0(FP), SI
	MOVQ v_len+8(FP), BX
	VBROADCASTSS floor+24(FP), Z31
	XORL DX, DX
	SUBQ $16, BX
	JLT rest
more:
	VMOVUPS (SI), Z0
	VCMPPS $13, Z31, Z0, K1
	KMOVW K1, AX
	POPCNTL AX, AX
	ADDQ AX, DX
	ADDQ $64, SI
	SUBQ $16, BX
	JGE more
rest:
	ADDQ $16, BX
	JZ done
	MOVL $0xffff, R8
	BZHIL BX, R8, R8
	KMOVW R8, K2
	VMOVUPS.Z (SI), K2, Z0
	VCMPPS $13, Z31, Z0, K2, K1
	KMOVW K1, AX
	POPCNTL AX, AX
	ADDQ AX, DX
done:
	MOVQ DX, ret+32(FP)
	VZEROUPPER
	RET
