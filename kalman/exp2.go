package kalman

import "math"

// exp2Neg returns 2^−y for y ≥ 0 within 1.5 ulp, and 0 where that is below the smallest normal
// float64 (y > 1022).
//
// The argument is split as −y = n + r with |r| ≤ 1/2 and an integer n, exactly; 2^r is the sum of
// its Taylor series Σ (r ln 2)^i / i! up to i = 13 (the rest is below 2^−57), by Horner's rule with
// every product rounded; the exponent is then set to n. Nothing here depends on the processor.
func exp2Neg(y float64) float64 {
	if !(y <= 1022) {
		return 0
	}
	n := int64(y + 0.5)
	r := float64(n) - y
	sum := 0.0
	for _, c := range exp2Coefficients {
		sum = float64(sum*r) + c
	}
	// The product is exact: y ≤ 1022 keeps it normal.
	return float64((1 + float64(r*sum)) * math.Float64frombits(uint64(1023-n)<<52))
}

// exp2Coefficients are (ln 2)^i / i! for i = 13 down to 1, rounded to nearest.
var exp2Coefficients = [...]float64{
	0x1.816193166d0f9p-40,
	0x1.c3bd650fc2986p-36,
	0x1.e8cac7351bb25p-32,
	0x1.e4cf5158b8ecap-28,
	0x1.b5253d395e7c4p-24,
	0x1.62c0223a5c824p-20,
	0x1.ffcbfc588b0c7p-17,
	0x1.430912f86c787p-13,
	0x1.5d87fe78a6731p-10,
	0x1.3b2ab6fba4e77p-07,
	0x1.c6b08d704a0cp-05,
	0x1.ebfbdff82c58fp-03,
	0x1.62e42fefa39efp-01,
}
