#include "textflag.h"

// Registers: Z0 … hold the row; SI is the strip, DX the row numbers, CX how many are left.

// func addAVX512(strip, x []float64, rows []int32)
TEXT ·addAVX512(SB), NOSPLIT, $0-72
	MOVQ strip_base+0(FP), SI
	MOVQ x_base+24(FP), DI
	MOVQ rows_base+48(FP), DX
	MOVQ rows_len+56(FP), CX
	VMOVUPD 0(DI), Z0
	VMOVUPD 64(DI), Z1
	VMOVUPD 128(DI), Z2
	VMOVUPD 192(DI), Z3
	TESTQ CX, CX
	JZ done

loop:
	MOVLQSX (DX), AX
	SHLQ $8, AX // a row has 256 bytes
	ADDQ SI, AX
	VADDPD 0(AX), Z0, Z8
	VADDPD 64(AX), Z1, Z9
	VADDPD 128(AX), Z2, Z10
	VADDPD 192(AX), Z3, Z11
	VMOVUPD Z8, 0(AX)
	VMOVUPD Z9, 64(AX)
	VMOVUPD Z10, 128(AX)
	VMOVUPD Z11, 192(AX)
	ADDQ $4, DX
	DECQ CX
	JNZ loop

done:
	VZEROUPPER
	RET

// func add64AVX512(strip, x []float32, rows []int32)
TEXT ·add64AVX512(SB), NOSPLIT, $0-72
	MOVQ strip_base+0(FP), SI
	MOVQ x_base+24(FP), DI
	MOVQ rows_base+48(FP), DX
	MOVQ rows_len+56(FP), CX
	VMOVUPS 0(DI), Z0
	VMOVUPS 64(DI), Z1
	VMOVUPS 128(DI), Z2
	VMOVUPS 192(DI), Z3
	TESTQ CX, CX
	JZ done

loop:
	MOVLQSX (DX), AX
	SHLQ $8, AX // a row has 256 bytes
	ADDQ SI, AX
	VADDPS 0(AX), Z0, Z8
	VADDPS 64(AX), Z1, Z9
	VADDPS 128(AX), Z2, Z10
	VADDPS 192(AX), Z3, Z11
	VMOVUPS Z8, 0(AX)
	VMOVUPS Z9, 64(AX)
	VMOVUPS Z10, 128(AX)
	VMOVUPS Z11, 192(AX)
	ADDQ $4, DX
	DECQ CX
	JNZ loop

done:
	VZEROUPPER
	RET

// func add32AVX512(strip, x []float32, rows []int32)
TEXT ·add32AVX512(SB), NOSPLIT, $0-72
	MOVQ strip_base+0(FP), SI
	MOVQ x_base+24(FP), DI
	MOVQ rows_base+48(FP), DX
	MOVQ rows_len+56(FP), CX
	VMOVUPS 0(DI), Z0
	VMOVUPS 64(DI), Z1
	TESTQ CX, CX
	JZ done

loop:
	MOVLQSX (DX), AX
	SHLQ $7, AX // a row has 128 bytes
	ADDQ SI, AX
	VADDPS 0(AX), Z0, Z8
	VADDPS 64(AX), Z1, Z9
	VMOVUPS Z8, 0(AX)
	VMOVUPS Z9, 64(AX)
	ADDQ $4, DX
	DECQ CX
	JNZ loop

done:
	VZEROUPPER
	RET
