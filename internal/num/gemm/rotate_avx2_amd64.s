#include "textflag.h"

// Registers: Y0 … Y7 hold the lower row of the pair: the result for the upper row of
// the pair before; Y8 and Y9 hold c and s, Y10 the upper row, Y11 the
// lower row's result. SI is the upper row, DX and DI the rotations from CX down.

#define COLUMNS(at, f) \
	VMOVUPD at(SI), Y10; \
	VMULPD Y8, f, Y11; \
	VMULPD Y9, f, f; \
	VFMADD231PD Y9, Y10, Y11; \
	VFMSUB231PD Y8, Y10, f; \
	VMOVUPD Y11, (at+256)(SI)

// func rotateAVX2(strip, c, s []float64)
TEXT ·rotateAVX2(SB), NOSPLIT, $0-72
	MOVQ strip_base+0(FP), SI
	MOVQ c_base+24(FP), DX
	MOVQ c_len+32(FP), CX
	MOVQ s_base+48(FP), DI
	MOVQ CX, AX
	SHLQ $8, AX // from rows to bytes: a row has 256
	ADDQ AX, SI
	VMOVUPD 0(SI), Y0
	VMOVUPD 32(SI), Y1
	VMOVUPD 64(SI), Y2
	VMOVUPD 96(SI), Y3
	VMOVUPD 128(SI), Y4
	VMOVUPD 160(SI), Y5
	VMOVUPD 192(SI), Y6
	VMOVUPD 224(SI), Y7

loop:
	SUBQ $256, SI
	VBROADCASTSD -8(DX)(CX*8), Y8
	VBROADCASTSD -8(DI)(CX*8), Y9
	COLUMNS(0, Y0)
	COLUMNS(32, Y1)
	COLUMNS(64, Y2)
	COLUMNS(96, Y3)
	COLUMNS(128, Y4)
	COLUMNS(160, Y5)
	COLUMNS(192, Y6)
	COLUMNS(224, Y7)
	DECQ CX
	JNZ loop

	VMOVUPD Y0, 0(SI)
	VMOVUPD Y1, 32(SI)
	VMOVUPD Y2, 64(SI)
	VMOVUPD Y3, 96(SI)
	VMOVUPD Y4, 128(SI)
	VMOVUPD Y5, 160(SI)
	VMOVUPD Y6, 192(SI)
	VMOVUPD Y7, 224(SI)
	VZEROUPPER
	RET
