#include "go_asm.h"
#include "textflag.h"
#include "neon_arm64.h"

// GROUP adds four columns of the sixteen rows at R1; i is their place among the digits in V16 and V17.
#define GROUP(i) \
	VLD1.P (R1)(R9), [V20.B16, V21.B16, V22.B16, V23.B16]; \
	VEOR V18.B16, V20.B16, V20.B16; \
	VEOR V18.B16, V21.B16, V21.B16; \
	VEOR V18.B16, V22.B16, V22.B16; \
	VEOR V18.B16, V23.B16, V23.B16; \
	SDOT4(16, i, 20, 0); \
	SDOT4(16, i, 21, 1); \
	SDOT4(16, i, 22, 2); \
	SDOT4(16, i, 23, 3); \
	SDOT4(17, i, 20, 4); \
	SDOT4(17, i, 21, 5); \
	SDOT4(17, i, 22, 6); \
	SDOT4(17, i, 23, 7)

// func dotsNEON(d *[BlockRows]int32, block []byte, q *Digits, next []byte)
//
// Sixteen rows after the other; what comes next is left to the processor to fetch. The bytes become int8 again (their upper
// bit is flipped), so the sum of the digits is not needed.
//
// Registers:
//	R0             sums to store
//	R1             four columns of the sixteen rows; R7 the first of them
//	R2, R3         high and low digits of the query
//	R4             columns left
//	R6             times sixteen rows left
//	R9             bytes of four columns of the block
//	V0 … V3        sums of the high digits, rows 0-3, 4-7, 8-11, 12-15; V4 … V7 of the low ones
TEXT ·dotsNEON(SB), NOSPLIT, $0-64
	MOVD d+0(FP), R0
	MOVD block_base+8(FP), R7
	MOVD q+32(FP), R5
	MOVD $8, R6
	MOVD $512, R9
	VMOVI $128, V18.B16
sixteen:
	MOVD R7, R1
	MOVD Digits_hi(R5), R2
	MOVD (Digits_hi+8)(R5), R4
	MOVD Digits_lo(R5), R3
	VEOR V0.B16, V0.B16, V0.B16
	VEOR V1.B16, V1.B16, V1.B16
	VEOR V2.B16, V2.B16, V2.B16
	VEOR V3.B16, V3.B16, V3.B16
	VEOR V4.B16, V4.B16, V4.B16
	VEOR V5.B16, V5.B16, V5.B16
	VEOR V6.B16, V6.B16, V6.B16
	VEOR V7.B16, V7.B16, V7.B16
	CMP $16, R4
	BLT rest
loop:
	VLD1.P 16(R2), [V16.B16]
	VLD1.P 16(R3), [V17.B16]
	GROUP(0)
	GROUP(1)
	GROUP(2)
	GROUP(3)
	SUB $16, R4
	CMP $16, R4
	BGE loop
rest:
	CBZ R4, sums
	VLD1.P 4(R2), V16.S[0]
	VLD1.P 4(R3), V17.S[0]
	GROUP(0)
	SUB $4, R4
	B rest
sums:
	VSHL $8, V0.S4, V0.S4
	VSHL $8, V1.S4, V1.S4
	VSHL $8, V2.S4, V2.S4
	VSHL $8, V3.S4, V3.S4
	VADD V4.S4, V0.S4, V0.S4
	VADD V5.S4, V1.S4, V1.S4
	VADD V6.S4, V2.S4, V2.S4
	VADD V7.S4, V3.S4, V3.S4
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R0)
	ADD $64, R7
	SUB $1, R6
	CBNZ R6, sixteen
	RET

// The bit of a row within a byte of its mask.
DATA rowBits<>+0x00(SB)/8, $0x8040201008040201
DATA rowBits<>+0x08(SB)/8, $0x8040201008040201
GLOBL rowBits<>(SB), RODATA|NOPTR, $16

// BOUND4 turns four dot products in register x into all ones where the bound reaches the floor. V24 to V27: step,
// norm, floor, margin; s and e: scale and error of the rows.
#define BOUND4(x, s, e) \
	SCVTF4(x, x); \
	FMUL4(s, x, x); \
	FMUL4(24, x, x); \
	FMUL4(25, e, e); \
	FADD4(27, e, e); \
	FADD4(e, x, x); \
	FCMGE4(26, x, x)

// func reachNEON(masks *[masksOfBlock]uint16, d *[BlockRows]int32, b *Bounds, floor float32) bool
TEXT ·reachNEON(SB), NOSPLIT, $0-33
	MOVD masks+0(FP), R0
	MOVD d+8(FP), R1
	MOVD b+16(FP), R5
	MOVD Bounds_Scale(R5), R2
	MOVD Bounds_Error(R5), R3
	ADD $Bounds_Step, R5, R6
	VLD1R (R6), [V24.S4]
	ADD $Bounds_Norm, R5, R6
	VLD1R (R6), [V25.S4]
	ADD $Bounds_Margin, R5, R6
	VLD1R (R6), [V27.S4]
	MOVD $floor+24(FP), R6
	VLD1R (R6), [V26.S4]
	MOVD $rowBits<>(SB), R6
	VLD1 (R6), [V28.B16]
	MOVD $8, R7 // masksOfBlock
	MOVD ZR, R8
panel:
	VLD1.P 64(R1), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1.P 64(R2), [V4.S4, V5.S4, V6.S4, V7.S4]
	VLD1.P 64(R3), [V16.S4, V17.S4, V18.S4, V19.S4]
	BOUND4(0, 4, 16)
	BOUND4(1, 5, 17)
	BOUND4(2, 6, 18)
	BOUND4(3, 7, 19)
	VUZP1 V1.H8, V0.H8, V0.H8
	VUZP1 V3.H8, V2.H8, V2.H8
	VUZP1 V2.B16, V0.B16, V0.B16 // a byte for each of the 16 rows
	VAND V28.B16, V0.B16, V0.B16
	VADDP V0.B16, V0.B16, V0.B16
	VADDP V0.B16, V0.B16, V0.B16
	VADDP V0.B16, V0.B16, V0.B16
	VMOV V0.H[0], R9
	MOVH.P R9, 2(R0)
	ORR R9, R8
	SUB $1, R7
	CBNZ R7, panel
	CMP $0, R8
	CSET NE, R8
	MOVB R8, ret+32(FP)
	RET
