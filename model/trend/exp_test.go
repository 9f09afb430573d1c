package trend

import (
	"math"
	"testing"
)

func TestExp(t *testing.T) {
	for x := -701.0; x <= 700; x += 0.00713 {
		got, want := exp(x), math.Exp(x)
		if x < -700 {
			want = 0
		}
		if math.Abs(got-want) > 3e-13*want {
			t.Fatalf("exp(%v) = %v, want %v", x, got, want)
		}
	}
	if exp(0) != 1 || exp(math.Inf(-1)) != 0 || exp(math.NaN()) != 0 || exp(-1e300) != 0 {
		t.Error("exp at its ends:", exp(0), exp(math.Inf(-1)), exp(math.NaN()), exp(-1e300))
	}
}

func BenchmarkExp(b *testing.B) {
	for name, f := range map[string]func(float64) float64{"own": exp, "math": math.Exp} {
		b.Run(name, func(b *testing.B) {
			sum, x := 0.0, 0.0
			for b.Loop() {
				if x -= 0.01; x < -20 {
					x = 0
				}
				sum += f(x)
			}
			_ = sum
		})
	}
}
