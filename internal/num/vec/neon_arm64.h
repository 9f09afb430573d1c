// Instructions of NEON that the assembler of Go does not know, by their encodings (Arm Architecture Reference Manual,
// C7.2). d, n and m are numbers of vector registers: d is the result, and m the second operand.

// d.4S = n.4S + m.4S
#define FADD4(m, n, d) WORD $(0x4E20D400 | (m)<<16 | (n)<<5 | (d))
// d.4S = n.4S · m.4S
#define FMUL4(m, n, d) WORD $(0x6E20DC00 | (m)<<16 | (n)<<5 | (d))
// d.4S = float32 of the int32 numbers n.4S
#define SCVTF4(n, d) WORD $(0x4E21D800 | (n)<<5 | (d))
// d.4S = n.4S ≥ m.4S, as float32: all ones or all zeros
#define FCMGE4(m, n, d) WORD $(0x6E20E400 | (m)<<16 | (n)<<5 | (d))
// d.4S += dot products of the four int8 of each 32 bits of n with those of 32-bit element i of m; i's upper bit stands
// in bit 11, its lower one in bit 21.
#define SDOT4(m, i, n, d) WORD $(0x4F80E000 | ((i)&1)<<21 | (m)<<16 | ((i)>>1)<<11 | (n)<<5 | (d))
