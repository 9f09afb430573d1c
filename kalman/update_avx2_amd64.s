#include "textflag.h"

// Each loop takes 8 coordinates at a time and leaves the remaining ones to Go. Products and sums are
// separate instructions, in the order of the Go code, so the bits are the same.

DATA kalman_one<>+0(SB)/4, $1.0
GLOBL kalman_one<>(SB), RODATA|NOPTR, $4
DATA kalman_max<>+0(SB)/4, $0x7f7fffff
GLOBL kalman_max<>(SB), RODATA|NOPTR, $4

// func filterAVX2(x, z, p, e, h []float32, a, a2, w, eta, nu float32)
TEXT ·filterAVX2(SB), NOSPLIT, $0-140
	MOVQ x_base+0(FP), AX
	MOVQ z_base+24(FP), BX
	MOVQ p_base+48(FP), CX
	MOVQ e_base+72(FP), SI
	MOVQ h_base+96(FP), DI
	MOVQ x_len+8(FP), R8
	SHRQ $3, R8
	JZ done
	VBROADCASTSS a+120(FP), Y10
	VBROADCASTSS a2+124(FP), Y11
	VBROADCASTSS w+128(FP), Y12
	VBROADCASTSS eta+132(FP), Y13
	VBROADCASTSS nu+136(FP), Y14
	VBROADCASTSS kalman_one<>(SB), Y15
	XORQ DX, DX
loop:
	VMULPS (AX)(DX*1), Y10, Y0 // a x
	VMOVUPS (SI)(DX*1), Y1
	VMULPS (DI)(DX*1), Y1, Y2
	VMULPS Y12, Y2, Y2
	VADDPS Y2, Y0, Y0 // the prediction
	VMULPS Y12, Y1, Y1
	VMULPS (BX)(DX*1), Y10, Y3
	VADDPS Y1, Y3, Y3
	VMOVUPS Y3, (BX)(DX*1) // z
	VMULPS (CX)(DX*1), Y11, Y4
	VADDPS Y13, Y4, Y4 // its variance
	VADDPS Y14, Y4, Y5
	VDIVPS Y5, Y4, Y5 // the gain
	VSUBPS Y0, Y3, Y6
	VMULPS Y5, Y6, Y6
	VADDPS Y6, Y0, Y0
	VMOVUPS Y0, (AX)(DX*1) // x
	VSUBPS Y5, Y15, Y7
	VMULPS Y7, Y7, Y7
	VMULPS Y4, Y7, Y7
	VMULPS Y5, Y5, Y5
	VMULPS Y14, Y5, Y5
	VADDPS Y5, Y7, Y7
	VMOVUPS Y7, (CX)(DX*1) // P
	ADDQ $32, DX
	DECQ R8
	JNZ loop
	VZEROUPPER
done:
	RET

// func bandAVX2(y, row []float32, a, w float32)
TEXT ·bandAVX2(SB), NOSPLIT, $0-56
	MOVQ y_base+0(FP), AX
	MOVQ row_base+24(FP), SI
	MOVQ y_len+8(FP), R8
	SHRQ $3, R8
	JZ done
	VBROADCASTSS a+48(FP), Y10
	VBROADCASTSS w+52(FP), Y12
	XORQ DX, DX
loop:
	VMULPS (AX)(DX*1), Y10, Y0
	VMULPS (SI)(DX*1), Y12, Y1
	VADDPS Y1, Y0, Y0
	VMOVUPS Y0, (AX)(DX*1)
	ADDQ $32, DX
	DECQ R8
	JNZ loop
	VZEROUPPER
done:
	RET

// func deviationAVX2(b, p, mean, eta, nu, u, x []float32, growth, scale, w float32)
TEXT ·deviationAVX2(SB), NOSPLIT, $0-180
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
	SHRQ $3, R8
	JZ done
	VBROADCASTSS growth+168(FP), Y10
	VBROADCASTSS scale+172(FP), Y11
	VBROADCASTSS w+176(FP), Y12
	VBROADCASTSS kalman_max<>(SB), Y14
	VBROADCASTSS kalman_one<>(SB), Y15
	XORQ DX, DX
loop:
	VMOVUPS (SI)(DX*1), Y0
	LEAQ (R12)(DX*1), R13
	JMP test
sum:
	VADDPS (R13), Y0, Y0 // q
	ADDQ R9, R13
test:
	CMPQ R13, BX
	JLT sum
	VMULPS (DI)(DX*1), Y10, Y4
	VADDPS (CX)(DX*1), Y4, Y4 // the variance
	VMOVUPS (R10)(DX*1), Y8
	VDIVPS Y12, Y8, Y8
	VMINPS Y14, Y8, Y8 // the noise
	VMULPS (R11)(DX*1), Y11, Y3
	VSUBPS Y0, Y3, Y3 // the innovation
	VADDPS Y8, Y4, Y5
	VDIVPS Y5, Y4, Y5 // the gain
	VMOVUPS (AX)(DX*1), Y0
	VSUBPS Y0, Y3, Y6
	VMULPS Y5, Y6, Y6
	VADDPS Y6, Y0, Y0
	VMOVUPS Y0, (AX)(DX*1) // b
	VSUBPS Y5, Y15, Y7
	VMULPS Y7, Y7, Y7
	VMULPS Y4, Y7, Y7
	VMULPS Y5, Y5, Y5
	VMULPS Y8, Y5, Y5
	VADDPS Y5, Y7, Y7
	VMOVUPS Y7, (CX)(DX*1) // P
	ADDQ $32, DX
	DECQ R8
	JNZ loop
	VZEROUPPER
done:
	RET
