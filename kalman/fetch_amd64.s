#include "textflag.h"

// func fetch(v []float32)
TEXT ·fetch(SB), NOSPLIT, $0-24
	MOVQ v_base+0(FP), AX
	MOVQ v_len+8(FP), CX
	LEAQ (AX)(CX*4), CX
	JMP test
line:
	PREFETCHT0 (AX)
	ADDQ $64, AX
test:
	CMPQ AX, CX
	JLT line
	RET
