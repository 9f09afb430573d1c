// What the scans of AVX2 and AVX-512 share. Each has its own ROW and MASKS.

// SCAN stores at DI the dot product of ROW for each of the AX rows at SI. DX is the query, BX = k.
#define SCAN(FACTOR) \
	MASKS; \
	TESTQ AX, AX; \
	JZ done; \
rows: \
	MOVQ DX, R10; \
	ROW(FACTOR); \
	VMOVSS X0, (DI); \
	ADDQ $4, DI; \
	DECQ AX; \
	JNZ rows; \
done: \
	VZEROUPPER
