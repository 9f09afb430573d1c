#include "go_asm.h"
#include "textflag.h"

DATA lanes<>+0(SB)/4, $0
DATA lanes<>+4(SB)/4, $1
DATA lanes<>+8(SB)/4, $2
DATA lanes<>+12(SB)/4, $3
DATA lanes<>+16(SB)/4, $4
DATA lanes<>+20(SB)/4, $5
DATA lanes<>+24(SB)/4, $6
DATA lanes<>+28(SB)/4, $7
DATA lanes<>+32(SB)/4, $8
DATA lanes<>+36(SB)/4, $9
DATA lanes<>+40(SB)/4, $10
DATA lanes<>+44(SB)/4, $11
DATA lanes<>+48(SB)/4, $12
DATA lanes<>+52(SB)/4, $13
DATA lanes<>+56(SB)/4, $14
DATA lanes<>+60(SB)/4, $15
GLOBL lanes<>(SB), RODATA|NOPTR, $64

// BOUND computes the bounds of the 16 rows from place CX on: the score in Z0, its error in Z1, the upper bound in Z2, and sets K1
// where that reaches the floor.
#define BOUND \
	VCVTDQ2PS (SI)(CX*4), Z0; \
	VMULPS (R9)(CX*4), Z0, Z0; \
	VMULPS Z28, Z0, Z0; \
	VMULPS (R10)(CX*4), Z29, Z1; \
	VADDPS Z26, Z1, Z1; \
	VADDPS Z1, Z0, Z2; \
	VCMPPS $13, Z31, Z2, K1

// func collectAVX512(c *Candidates, d *[BlockRows]int32, b *Bounds, floor float32, first int32) int
//
// The first loop only looks whether there is any. The second has no branches, which would be hard to foresee; it compresses in
// registers and stores whole ones, which is several times faster than to compress into memory.
//
// Registers:
//	SI             d
//	R9, R10        scale, error
//	R11, R12, R13  place, low, high to write to
//	CX             rows read
//	DX             candidates written
//	Z27            16 everywhere
//	Z28, Z29, Z26  step, norm, margin
//	Z31            floor
//	Z30            places of 16 rows
TEXT ·collectAVX512(SB), NOSPLIT, $0-40
	MOVQ d+8(FP), SI
	MOVQ b+16(FP), BX
	MOVQ Bounds_Scale(BX), R9
	MOVQ Bounds_Error(BX), R10
	VBROADCASTSS Bounds_Step(BX), Z28
	VBROADCASTSS Bounds_Norm(BX), Z29
	VBROADCASTSS Bounds_Margin(BX), Z26
	VBROADCASTSS floor+24(FP), Z31
	XORL DX, DX
	XORL CX, CX
	KXORW K2, K2, K2
look:
	BOUND
	PREFETCHT1 512(R9)(CX*4) // what the next block will want
	PREFETCHT1 512(R10)(CX*4)
	KORW K1, K2, K2
	ADDQ $16, CX
	CMPQ CX, $128
	JLT look
	KORTESTW K2, K2
	JZ done
	MOVQ c+0(FP), DI
	MOVQ (Candidates_Place+8)(DI), R8
	SHLQ $2, R8
	MOVQ Candidates_Place(DI), R11
	MOVQ Candidates_Low(DI), R12
	MOVQ Candidates_High(DI), R13
	ADDQ R8, R11
	ADDQ R8, R12
	ADDQ R8, R13
	MOVL first+28(FP), R8
	VPBROADCASTD R8, Z30
	VPADDD lanes<>(SB), Z30, Z30
	MOVL $16, R8
	VPBROADCASTD R8, Z27
	XORL CX, CX
rows:
	BOUND
	VSUBPS Z1, Z0, Z3
	VCOMPRESSPS Z2, K1, Z2
	VCOMPRESSPS Z3, K1, Z3
	VPCOMPRESSD Z30, K1, Z4
	VMOVUPS Z2, (R13)(DX*4)
	VMOVUPS Z3, (R12)(DX*4)
	VMOVDQU32 Z4, (R11)(DX*4)
	KMOVW K1, AX
	POPCNTL AX, AX
	ADDQ AX, DX
	VPADDD Z27, Z30, Z30
	ADDQ $16, CX
	CMPQ CX, $128
	JLT rows
done:
	MOVQ DX, ret+32(FP)
	VZEROUPPER
	RET

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
