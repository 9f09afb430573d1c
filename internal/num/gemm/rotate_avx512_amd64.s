#include "textflag.h"

// Registers: Z0 … Z3 hold the lower row of the pair: the result for the upper row of
// the pair before; Z4 and Z5 hold c and s, Z6 the upper row, Z7 the
// lower row's result. SI is the upper row, DX and DI the rotations from CX down.

#define COLUMNS(at, f) \
	VMOVUPD at(SI), Z6; \
	VMULPD Z4, f, Z7; \
	VMULPD Z5, f, f; \
	VFMADD231PD Z5, Z6, Z7; \
	VFMSUB231PD Z4, Z6, f; \
	VMOVUPD Z7, (at+256)(SI)

// func rotateAVX512(strip, c, s []float64)
TEXT ·rotateAVX512(SB), NOSPLIT, $0-72
	MOVQ strip_base+0(FP), SI
	MOVQ c_base+24(FP), DX
	MOVQ c_len+32(FP), CX
	MOVQ s_base+48(FP), DI
	MOVQ CX, AX
	SHLQ $8, AX // from rows to bytes: a row has 256
	ADDQ AX, SI
	VMOVUPD 0(SI), Z0
	VMOVUPD 64(SI), Z1
	VMOVUPD 128(SI), Z2
	VMOVUPD 192(SI), Z3

loop:
	SUBQ $256, SI
	VBROADCASTSD -8(DX)(CX*8), Z4
	VBROADCASTSD -8(DI)(CX*8), Z5
	COLUMNS(0, Z0)
	COLUMNS(64, Z1)
	COLUMNS(128, Z2)
	COLUMNS(192, Z3)
	DECQ CX
	JNZ loop

	VMOVUPD Z0, 0(SI)
	VMOVUPD Z1, 64(SI)
	VMOVUPD Z2, 128(SI)
	VMOVUPD Z3, 192(SI)
	VZEROUPPER
	RET
