#include "textflag.h"

#define SHIFT $3
#define BCAST VBROADCASTSD
#define FMA VFMADD231PD
#define FMADD VFMADD213PD
#define LOAD VMOVUPD
#define STORE VMOVUPD

#include "avx2_amd64.h"

// func tile64AVX2(k int, alpha float64, a []float64, outer, inner int, b, c []float64, stride int, next *ahead[float64])
TEXT ·tile64AVX2(SB), NOSPLIT, $0-120
	MOVQ k+0(FP), AX
	MOVQ a_base+16(FP), SI
	MOVQ outer+40(FP), BX
	MOVQ inner+48(FP), CX
	MOVQ next+112(FP), R12
	MOVQ b_base+56(FP), DX
	MOVQ c_base+80(FP), R10
	MOVQ stride+104(FP), R11
	SUMS
	BCAST alpha+8(FP), Y0
	ADDTILE
	RET
