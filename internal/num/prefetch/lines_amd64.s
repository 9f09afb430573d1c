#include "textflag.h"

// func lines(p unsafe.Pointer, bytes uintptr)
TEXT ·lines(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), AX
	MOVQ bytes+8(FP), CX
	ADDQ AX, CX
	ANDQ $~63, AX
	JMP test
line:
	PREFETCHT0 (AX)
	ADDQ $64, AX
test:
	CMPQ AX, CX
	JCS line
	RET
