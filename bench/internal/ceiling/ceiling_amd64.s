#include "textflag.h"

// Loads of 1 KiB from SI on. What is loaded is dropped, so that nothing but the memory can be waited for. The prefetch
// reaches over the ends of pages, where the hardware's own stops; beyond the operand it is without effect.
#define AHEAD(at) PREFETCHT0 (at+4096)(SI)
#define LINE512(at) AHEAD(at); VMOVDQU64 (at)(SI), Z0
#define LINE256(at) AHEAD(at); VMOVDQU (at)(SI), Y0; VMOVDQU (at+32)(SI), Y1
#define FOUR(line, at) line(at); line(at+64); line(at+128); line(at+192)
#define KIBIBYTE(line) FOUR(line, 0); FOUR(line, 256); FOUR(line, 512); FOUR(line, 768)

// func loadAVX512(p []byte)
TEXT ·loadAVX512(SB), NOSPLIT, $0-24
	MOVQ p_base+0(FP), SI
	MOVQ p_len+8(FP), CX

load512:
	KIBIBYTE(LINE512)
	ADDQ $1024, SI
	SUBQ $1024, CX
	JNZ  load512
	VZEROUPPER
	RET

// func loadAVX2(p []byte)
TEXT ·loadAVX2(SB), NOSPLIT, $0-24
	MOVQ p_base+0(FP), SI
	MOVQ p_len+8(FP), CX

load256:
	KIBIBYTE(LINE256)
	ADDQ $1024, SI
	SUBQ $1024, CX
	JNZ  load256
	VZEROUPPER
	RET

// Fused multiply-adds of zeros, each into a sum of its own: zeros stay zeros, so no operand becomes denormal.
#define CLEAR(r) VXORPS r, r, r
#define FMA32Z(r) VFMADD231PS Z30, Z31, r
#define FMA64Z(r) VFMADD231PD Z30, Z31, r
#define FMA32Y(r) VFMADD231PS Y14, Y15, r
#define FMA64Y(r) VFMADD231PD Y14, Y15, r
#define TWELVEY(f) f(Y0); f(Y1); f(Y2); f(Y3); f(Y4); f(Y5); f(Y6); f(Y7); f(Y8); f(Y9); f(Y10); f(Y11)
#define TWELVEZ(f) f(Z0); f(Z1); f(Z2); f(Z3); f(Z4); f(Z5); f(Z6); f(Z7); f(Z8); f(Z9); f(Z10); f(Z11)
#define MOREZ(f) f(Z12); f(Z13); f(Z14); f(Z15); f(Z16); f(Z17); f(Z18); f(Z19); f(Z20); f(Z21); f(Z22); f(Z23)
#define CLEARZ(r) VPXORQ r, r, r

// func fma32AVX512(steps int)
TEXT ·fma32AVX512(SB), NOSPLIT, $0-8
	MOVQ steps+0(FP), CX
	TWELVEZ(CLEARZ)
	MOREZ(CLEARZ)
	CLEARZ(Z30)
	CLEARZ(Z31)

fma32z:
	TWELVEZ(FMA32Z)
	MOREZ(FMA32Z)
	DECQ CX
	JNZ  fma32z
	VZEROUPPER
	RET

// func fma64AVX512(steps int)
TEXT ·fma64AVX512(SB), NOSPLIT, $0-8
	MOVQ steps+0(FP), CX
	TWELVEZ(CLEARZ)
	MOREZ(CLEARZ)
	CLEARZ(Z30)
	CLEARZ(Z31)

fma64z:
	TWELVEZ(FMA64Z)
	MOREZ(FMA64Z)
	DECQ CX
	JNZ  fma64z
	VZEROUPPER
	RET

// func fma32AVX2(steps int)
TEXT ·fma32AVX2(SB), NOSPLIT, $0-8
	MOVQ steps+0(FP), CX
	TWELVEY(CLEAR)
	CLEAR(Y14)
	CLEAR(Y15)

fma32y:
	TWELVEY(FMA32Y)
	DECQ CX
	JNZ  fma32y
	VZEROUPPER
	RET

// func fma64AVX2(steps int)
TEXT ·fma64AVX2(SB), NOSPLIT, $0-8
	MOVQ steps+0(FP), CX
	TWELVEY(CLEAR)
	CLEAR(Y14)
	CLEAR(Y15)

fma64y:
	TWELVEY(FMA64Y)
	DECQ CX
	JNZ  fma64y
	VZEROUPPER
	RET
