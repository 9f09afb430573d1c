#include "textflag.h"

#define SHIFT $2
#define BCAST VBROADCASTSS
#define FMA VFMADD231PS
#define FMADD VFMADD213PS
#define LOAD VMOVUPS
#define STORE VMOVUPS

#include "avx2_amd64.h"

// func tile32AVX2(k int, alpha float32, a []float32, outer, inner int, b, c []float32, stride int, next *ahead[float32])
TEXT ·tile32AVX2(SB), NOSPLIT, $0-120
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
