package kalman

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// exp2Oracle returns 2^−y to 200 bits: the Taylor series of e^(f ln 2) for the fraction f of y,
// with ln 2 = Σ 1/(i 2^i).
func exp2Oracle(y float64) *big.Float {
	prec := func() *big.Float { return new(big.Float).SetPrec(200) }
	ln2, power := prec(), prec().SetInt64(1)
	for i := int64(1); i < 220; i++ {
		power.Quo(power, prec().SetInt64(2))
		ln2.Add(ln2, prec().Quo(power, prec().SetInt64(i)))
	}
	whole, fraction := math.Modf(y)
	x := prec().Mul(ln2, prec().SetFloat64(-fraction))
	sum, term := prec().SetInt64(1), prec().SetInt64(1)
	for i := int64(1); i < 60; i++ {
		term.Quo(term.Mul(term, x), prec().SetInt64(i))
		sum.Add(sum, term)
	}
	return sum.SetMantExp(sum, -int(whole))
}

func TestExp2NegAccuracy(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	worst := 0.0
	check := func(y float64) {
		t.Helper()
		got, want := exp2Neg(y), exp2Oracle(y)
		near, _ := want.Float64()
		ulp := math.Nextafter(near, 2) - near
		diff, _ := new(big.Float).Sub(new(big.Float).SetPrec(200).SetFloat64(got), want).Float64()
		if e := math.Abs(diff) / ulp; !(e <= 1.5) {
			t.Errorf("2^−%v = %v, want %v: %.2f ulp", y, got, near, e)
		} else {
			worst = max(worst, e)
		}
	}
	for range 500 {
		check(rng.Float64())
		check(rng.Float64() * 40)
		check(rng.Float64() * 1021)
		check(math.Exp(-rng.Float64() * 60))
	}
	for _, y := range []float64{
		0, 0.5, math.Nextafter(0.5, 0), math.Nextafter(0.5, 1), 1, 1.5, 2, 1021.5, 1022, 1e-300,
	} {
		check(y)
	}
	t.Logf("worst error %.3f ulp", worst)
}

func TestExp2NegEdges(t *testing.T) {
	for n := range 1023 {
		check.Same(t, math.Ldexp(1, -n), exp2Neg(float64(n)), "2^−%d", n)
	}
	for _, y := range []float64{
		math.Nextafter(1022, 2000), 1023, 1e6, 1e300, math.Inf(1), math.NaN(),
	} {
		check.Same(t, 0.0, exp2Neg(y), "exp2Neg(%v)", y)
	}
}
