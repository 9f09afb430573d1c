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

// The kernels of blocks go in two steps: the dot products of the block's 128 rows, 16 rows a register, in Z0 … Z7; then the
// bounds, and the rows that reach the floor. Arguments:
//
//	func(c *Candidates, block []byte, q *Digits, b *Bounds, floor float32, first int32, next []byte) int
//
// Registers of the first step:
//	SI, DX         block, the next block
//	R9, R10        high and low digits
//	CX             groups of columns left
//	Z0 … Z7        sums of the high digit
//	Z8 … Z15       sums of the low digit
//	Z16 …          digits, numbers of the block
//
// Registers of the second step:
//	R9, R10        scale, error
//	R11, R12, R13  place, low, high to write to
//	DX             candidates written
//	Z0 … Z7        scores, later lower bounds
//	Z8 … Z15       errors, later scratch
//	Z16 … Z23      upper bounds
//	Z26, Z28, Z29  margin, step, norm
//	Z27, Z30       16 everywhere, places of 16 rows
//	Z31            floor

#define CLEAR \
	VPXORQ Z0, Z0, Z0; \
	VPXORQ Z1, Z1, Z1; \
	VPXORQ Z2, Z2, Z2; \
	VPXORQ Z3, Z3, Z3; \
	VPXORQ Z4, Z4, Z4; \
	VPXORQ Z5, Z5, Z5; \
	VPXORQ Z6, Z6, Z6; \
	VPXORQ Z7, Z7, Z7; \
	VPXORQ Z8, Z8, Z8; \
	VPXORQ Z9, Z9, Z9; \
	VPXORQ Z10, Z10, Z10; \
	VPXORQ Z11, Z11, Z11; \
	VPXORQ Z12, Z12, Z12; \
	VPXORQ Z13, Z13, Z13; \
	VPXORQ Z14, Z14, Z14; \
	VPXORQ Z15, Z15, Z15

// LOAD fetches four columns of all rows of a block of bytes.
#define LOAD \
	VMOVDQU32 (SI), Z18; \
	VMOVDQU32 64(SI), Z19; \
	VMOVDQU32 128(SI), Z20; \
	VMOVDQU32 192(SI), Z21; \
	VMOVDQU32 256(SI), Z22; \
	VMOVDQU32 320(SI), Z23; \
	VMOVDQU32 384(SI), Z24; \
	VMOVDQU32 448(SI), Z25; \
	ADDQ $512, SI

// HIGH and LOW add the products with four digits.
#define HIGH \
	VPBROADCASTD (R9), Z16; \
	VPDPBUSD Z16, Z18, Z0; \
	VPDPBUSD Z16, Z19, Z1; \
	VPDPBUSD Z16, Z20, Z2; \
	VPDPBUSD Z16, Z21, Z3; \
	VPDPBUSD Z16, Z22, Z4; \
	VPDPBUSD Z16, Z23, Z5; \
	VPDPBUSD Z16, Z24, Z6; \
	VPDPBUSD Z16, Z25, Z7; \
	ADDQ $4, R9

#define LOW \
	VPBROADCASTD (R10), Z17; \
	VPDPBUSD Z17, Z18, Z8; \
	VPDPBUSD Z17, Z19, Z9; \
	VPDPBUSD Z17, Z20, Z10; \
	VPDPBUSD Z17, Z21, Z11; \
	VPDPBUSD Z17, Z22, Z12; \
	VPDPBUSD Z17, Z23, Z13; \
	VPDPBUSD Z17, Z24, Z14; \
	VPDPBUSD Z17, Z25, Z15; \
	ADDQ $4, R10

// FETCH fetches 512 bytes of the next block.
#define FETCH \
	PREFETCHT1 (DX); \
	PREFETCHT1 64(DX); \
	PREFETCHT1 128(DX); \
	PREFETCHT1 192(DX); \
	PREFETCHT1 256(DX); \
	PREFETCHT1 320(DX); \
	PREFETCHT1 384(DX); \
	PREFETCHT1 448(DX); \
	ADDQ $512, DX

// SUM turns the sums of the two digits into the dot product: 256·high + low + Z31.
#define SUM(high, low) \
	VPSLLD $8, high, high; \
	VPADDD low, high, high; \
	VPADDD Z31, high, high

#define SUMS \
	SUM(Z0, Z8); \
	SUM(Z1, Z9); \
	SUM(Z2, Z10); \
	SUM(Z3, Z11); \
	SUM(Z4, Z12); \
	SUM(Z5, Z13); \
	SUM(Z6, Z14); \
	SUM(Z7, Z15)

// BOUND computes the bounds of the 16 rows of register i, and sets K2 where they reach the floor. What the next block will want
// is fetched meanwhile.
#define BOUND(i, score, error, high) \
	VCVTDQ2PS score, score; \
	PREFETCHT1 (512+64*i)(R9); \
	PREFETCHT1 (512+64*i)(R10); \
	VMULPS (64*i)(R9), score, score; \
	VMULPS Z28, score, score; \
	VMULPS (64*i)(R10), Z29, error; \
	VADDPS Z26, error, error; \
	VADDPS error, score, high; \
	VCMPPS $13, Z31, high, K1; \
	KORW K1, K2, K2

// APPEND writes 16 rows. There is no branch, which would be hard to foresee; to compress in registers and to store whole ones
// is several times faster than to compress into memory.
#define APPEND(score, error, high) \
	VCMPPS $13, Z31, high, K1; \
	VSUBPS error, score, score; \
	VCOMPRESSPS high, K1, high; \
	VCOMPRESSPS score, K1, score; \
	VPCOMPRESSD Z30, K1, error; \
	VMOVUPS high, (R13)(DX*4); \
	VMOVUPS score, (R12)(DX*4); \
	VMOVDQU32 error, (R11)(DX*4); \
	KMOVW K1, AX; \
	POPCNTL AX, AX; \
	ADDQ AX, DX; \
	VPADDD Z27, Z30, Z30

// COLLECT is the second step.
#define COLLECT \
	MOVQ b+40(FP), BX; \
	MOVQ Bounds_Scale(BX), R9; \
	MOVQ Bounds_Error(BX), R10; \
	VBROADCASTSS Bounds_Step(BX), Z28; \
	VBROADCASTSS Bounds_Norm(BX), Z29; \
	VBROADCASTSS Bounds_Margin(BX), Z26; \
	VBROADCASTSS floor+48(FP), Z31; \
	XORL DX, DX; \
	KXORW K2, K2, K2; \
	BOUND(0, Z0, Z8, Z16); \
	BOUND(1, Z1, Z9, Z17); \
	BOUND(2, Z2, Z10, Z18); \
	BOUND(3, Z3, Z11, Z19); \
	BOUND(4, Z4, Z12, Z20); \
	BOUND(5, Z5, Z13, Z21); \
	BOUND(6, Z6, Z14, Z22); \
	BOUND(7, Z7, Z15, Z23); \
	KORTESTW K2, K2; \
	JZ none; \
	MOVQ c+0(FP), DI; \
	MOVQ (Candidates_Place+8)(DI), AX; \
	MOVQ Candidates_Place(DI), R11; \
	MOVQ Candidates_Low(DI), R12; \
	MOVQ Candidates_High(DI), R13; \
	LEAQ (R11)(AX*4), R11; \
	LEAQ (R12)(AX*4), R12; \
	LEAQ (R13)(AX*4), R13; \
	MOVL first+52(FP), AX; \
	VPBROADCASTD AX, Z30; \
	VPADDD lanes<>(SB), Z30, Z30; \
	MOVL $16, AX; \
	VPBROADCASTD AX, Z27; \
	APPEND(Z0, Z8, Z16); \
	APPEND(Z1, Z9, Z17); \
	APPEND(Z2, Z10, Z18); \
	APPEND(Z3, Z11, Z19); \
	APPEND(Z4, Z12, Z20); \
	APPEND(Z5, Z13, Z21); \
	APPEND(Z6, Z14, Z22); \
	APPEND(Z7, Z15, Z23); \
none: \
	MOVQ DX, ret+80(FP); \
	VZEROUPPER; \
	RET

// func collectAVX512(c *Candidates, block []byte, q *Digits, b *Bounds, floor float32, first int32, next []byte) int
TEXT ·collectAVX512(SB), NOSPLIT, $0-88
	MOVQ block_base+8(FP), SI
	MOVQ q+32(FP), BX
	MOVQ Digits_hi(BX), R9
	MOVQ Digits_lo(BX), R10
	MOVQ (Digits_h+8)(BX), CX
	MOVBLZX Digits_small(BX), R8
	VPBROADCASTD Digits_sum(BX), Z16
	VPSLLD $7, Z16, Z16
	VPXORQ Z31, Z31, Z31
	VPSUBD Z16, Z31, Z31 // for the 128 that stands in each number
	MOVQ next_base+56(FP), DX
	CLEAR
	SHRQ $2, CX
	JZ sums
	TESTL R8, R8
	JNZ small
	TESTQ DX, DX
	JZ near
far:
	LOAD
	HIGH
	LOW
	FETCH
	DECQ CX
	JNZ far
	JMP sums
near:
	LOAD
	HIGH
	LOW
	DECQ CX
	JNZ near
	JMP sums
small:
	TESTQ DX, DX
	JZ smallNear
smallFar:
	LOAD
	LOW
	FETCH
	DECQ CX
	JNZ smallFar
	JMP sums
smallNear:
	LOAD
	LOW
	DECQ CX
	JNZ smallNear
sums:
	SUMS
	COLLECT

// FIVE adds the products of eight columns of 16 rows of a block of five bits, those of register i, whose numbers become 8b. a and
// b are Z26 and Z27, or Z23 and Z24, into which they have been shifted: the low bits, so that those wanted stand in bit 3.
#define FIVE(i, a, b, high, low) \
	VMOVDQU32 (64*i)(SI), Z20; \
	VPSLLW $4, Z20, Z21; \
	VPANDD Z29, Z20, Z22; \
	VPANDD Z29, Z21, Z21; \
	VPTERNLOGD $0xf8, Z30, b, Z22; \
	VPTERNLOGD $0xf8, Z30, a, Z21; \
	VPDPBUSD Z18, Z22, high; \
	VPDPBUSD Z19, Z22, low; \
	VPDPBUSD Z16, Z21, high; \
	VPDPBUSD Z17, Z21, low

#define LEFT(n) \
	VPSLLW $n, Z26, Z23; \
	VPSLLW $n, Z27, Z24

#define RIGHT(n) \
	VPSRLW $n, Z26, Z23; \
	VPSRLW $n, Z27, Z24

// QUARTER makes sums for 2b of those for 8b.
#define QUARTER(high, low) \
	VPSRAD $2, high, high; \
	VPSRAD $2, low, low

// func collectFiveAVX512(c *Candidates, block []byte, q *Digits, b *Bounds, floor float32, first int32, next []byte) int
//
// In the first step Z16 to Z19 are the digits: high and low of four columns, the same of the other four; Z26 and Z27 the low bits of
// the numbers, those of register i in bit i; Z29 = 0xf0, Z30 = 8 in every byte.
TEXT ·collectFiveAVX512(SB), NOSPLIT, $0-88
	MOVQ block_base+8(FP), SI
	MOVQ q+32(FP), BX
	MOVQ Digits_hi(BX), R9
	MOVQ Digits_lo(BX), R10
	MOVQ (Digits_h+8)(BX), CX
	MOVL $0xf0f0f0f0, AX
	VPBROADCASTD AX, Z29
	MOVL $0x08080808, AX
	VPBROADCASTD AX, Z30
	VPBROADCASTD Digits_sum(BX), Z16
	VPSLLD $5, Z16, Z17
	VPSUBD Z17, Z16, Z31 // −31 times the sum
	MOVQ next_base+56(FP), DX
	TESTQ DX, DX
	CMOVQEQ SI, DX // nothing to fetch but what is there already
	CLEAR
	SHRQ $3, CX
	JZ sums
eight:
	VPBROADCASTD (R9), Z16
	VPBROADCASTD (R10), Z17
	VPBROADCASTD 4(R9), Z18
	VPBROADCASTD 4(R10), Z19
	VMOVDQU32 512(SI), Z26
	VMOVDQU32 576(SI), Z27
	LEFT(3)
	FIVE(0, Z23, Z24, Z0, Z8)
	LEFT(2)
	FIVE(1, Z23, Z24, Z1, Z9)
	LEFT(1)
	FIVE(2, Z23, Z24, Z2, Z10)
	FIVE(3, Z26, Z27, Z3, Z11)
	RIGHT(1)
	FIVE(4, Z23, Z24, Z4, Z12)
	RIGHT(2)
	FIVE(5, Z23, Z24, Z5, Z13)
	RIGHT(3)
	FIVE(6, Z23, Z24, Z6, Z14)
	RIGHT(4)
	FIVE(7, Z23, Z24, Z7, Z15)
	ADDQ $640, SI
	ADDQ $8, R9
	ADDQ $8, R10
	FETCH
	PREFETCHT1 (DX)
	PREFETCHT1 64(DX)
	ADDQ $128, DX
	DECQ CX
	JNZ eight
sums:
	QUARTER(Z0, Z8)
	QUARTER(Z1, Z9)
	QUARTER(Z2, Z10)
	QUARTER(Z3, Z11)
	QUARTER(Z4, Z12)
	QUARTER(Z5, Z13)
	QUARTER(Z6, Z14)
	QUARTER(Z7, Z15)
	SUMS
	COLLECT
