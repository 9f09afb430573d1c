#include "textflag.h"

// Each loop takes 16 coordinates at a time and leaves the remaining ones to Go. Products and sums are
// separate instructions, in the order of the Go code, so the bits are the same.

DATA kalman_one<>+0(SB)/4, $1.0
GLOBL kalman_one<>(SB), RODATA|NOPTR, $4
DATA kalman_max<>+0(SB)/4, $0x7f7fffff
GLOBL kalman_max<>(SB), RODATA|NOPTR, $4

// func filterAVX512(x, z, p, e, h []float32, a, a2, w, eta, nu float32)
TEXT ·filterAVX512(SB), NOSPLIT, $0-140
	MOVQ x_base+0(FP), AX
	MOVQ z_base+24(FP), BX
	MOVQ p_base+48(FP), CX
	MOVQ e_base+72(FP), SI
	MOVQ h_base+96(FP), DI
	MOVQ x_len+8(FP), R8
	SHRQ $4, R8
	JZ done
	VBROADCASTSS a+120(FP), Z16
	VBROADCASTSS a2+124(FP), Z17
	VBROADCASTSS w+128(FP), Z18
	VBROADCASTSS eta+132(FP), Z19
	VBROADCASTSS nu+136(FP), Z20
	VBROADCASTSS kalman_one<>(SB), Z21
	XORQ DX, DX
loop:
	VMULPS (AX)(DX*1), Z16, Z0 // a x
	VMOVUPS (SI)(DX*1), Z1
	VMULPS (DI)(DX*1), Z1, Z2
	VMULPS Z18, Z2, Z2
	VADDPS Z2, Z0, Z0 // the prediction
	VMULPS Z18, Z1, Z1
	VMULPS (BX)(DX*1), Z16, Z3
	VADDPS Z1, Z3, Z3
	VMOVUPS Z3, (BX)(DX*1) // z
	VMULPS (CX)(DX*1), Z17, Z4
	VADDPS Z19, Z4, Z4 // its variance
	VADDPS Z20, Z4, Z5
	VDIVPS Z5, Z4, Z5 // the gain
	VSUBPS Z0, Z3, Z6
	VMULPS Z5, Z6, Z6
	VADDPS Z6, Z0, Z0
	VMOVUPS Z0, (AX)(DX*1) // x
	VSUBPS Z5, Z21, Z7
	VMULPS Z7, Z7, Z7
	VMULPS Z4, Z7, Z7
	VMULPS Z5, Z5, Z5
	VMULPS Z20, Z5, Z5
	VADDPS Z5, Z7, Z7
	VMOVUPS Z7, (CX)(DX*1) // P
	ADDQ $64, DX
	DECQ R8
	JNZ loop
	VZEROUPPER
done:
	RET

// func bandAVX512(y, row []float32, a, w float32)
TEXT ·bandAVX512(SB), NOSPLIT, $0-56
	MOVQ y_base+0(FP), AX
	MOVQ row_base+24(FP), SI
	MOVQ y_len+8(FP), R8
	SHRQ $4, R8
	JZ done
	VBROADCASTSS a+48(FP), Z16
	VBROADCASTSS w+52(FP), Z18
	XORQ DX, DX
loop:
	VMULPS (AX)(DX*1), Z16, Z0
	VMULPS (SI)(DX*1), Z18, Z1
	VADDPS Z1, Z0, Z0
	VMOVUPS Z0, (AX)(DX*1)
	ADDQ $64, DX
	DECQ R8
	JNZ loop
	VZEROUPPER
done:
	RET

// func deviationAVX512(b, p, mean, eta, nu, u, x []float32, growth, scale, w float32)
TEXT ·deviationAVX512(SB), NOSPLIT, $0-180
	MOVQ b_base+0(FP), AX
	MOVQ p_base+24(FP), CX
	MOVQ mean_base+48(FP), SI
	MOVQ eta_base+72(FP), DI
	MOVQ nu_base+96(FP), R10
	MOVQ u_base+120(FP), R11
	MOVQ x_base+144(FP), R12
	MOVQ mean_len+56(FP), R8
	MOVQ R8, R9
	SHLQ $2, R9 // bytes from band to band
	MOVQ x_len+152(FP), BX
	SHLQ $2, BX
	ADDQ R12, BX // end of the bands
	SHRQ $4, R8
	JZ done
	VBROADCASTSS growth+168(FP), Z16
	VBROADCASTSS scale+172(FP), Z17
	VBROADCASTSS w+176(FP), Z18
	VBROADCASTSS kalman_max<>(SB), Z20
	VBROADCASTSS kalman_one<>(SB), Z21
	XORQ DX, DX
loop:
	VMOVUPS (SI)(DX*1), Z0
	LEAQ (R12)(DX*1), R13
	JMP test
sum:
	VADDPS (R13), Z0, Z0 // q
	ADDQ R9, R13
test:
	CMPQ R13, BX
	JLT sum
	VMULPS (DI)(DX*1), Z16, Z4
	VADDPS (CX)(DX*1), Z4, Z4 // the variance
	VMOVUPS (R10)(DX*1), Z8
	VDIVPS Z18, Z8, Z8
	VMINPS Z20, Z8, Z8 // the noise
	VMULPS (R11)(DX*1), Z17, Z3
	VSUBPS Z0, Z3, Z3 // the innovation
	VADDPS Z8, Z4, Z5
	VDIVPS Z5, Z4, Z5 // the gain
	VMOVUPS (AX)(DX*1), Z0
	VSUBPS Z0, Z3, Z6
	VMULPS Z5, Z6, Z6
	VADDPS Z6, Z0, Z0
	VMOVUPS Z0, (AX)(DX*1) // b
	VSUBPS Z5, Z21, Z7
	VMULPS Z7, Z7, Z7
	VMULPS Z4, Z7, Z7
	VMULPS Z5, Z5, Z5
	VMULPS Z8, Z5, Z5
	VADDPS Z5, Z7, Z7
	VMOVUPS Z7, (CX)(DX*1) // P
	ADDQ $64, DX
	DECQ R8
	JNZ loop
	VZEROUPPER
done:
	RET
