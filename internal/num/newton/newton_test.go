package newton

import (
	"math"
	"testing"
)

// quadratic is −½ (x−c)ᵀ A (x−c), whose largest value is 0 at c.
func quadratic(a [Most]Params, c Params) func(Params) Moments {
	return func(x Params) Moments {
		m := Moments{Matrix: a}
		for i := range x {
			for j := range x {
				m.Gradient[i] -= a[i][j] * (x[j] - c[j])
			}
			m.Value += (x[i] - c[i]) * m.Gradient[i] / 2
		}
		return m
	}
}

func TestClimb(t *testing.T) {
	all := [Most]bool{true, true, true, true}
	full := [Most]Params{{4, 1, 0, 1}, {1, 3, 1, 0}, {0, 1, 2, 0}, {1, 0, 0, 5}}
	none := Params{}
	for name, c := range map[string]struct {
		matrix [Most]Params
		free   [Most]bool
		want   Params // nearest the largest value 0 at 1, 2, 3, 4
	}{
		"all":          {full, all, Params{1, 2, 3, 4}},
		"two":          {full, [Most]bool{true, true}, Params{20.0 / 11, 30.0 / 11}},
		"fewer":        {[Most]Params{{4, 1}, {1, 3}}, all, Params{1, 2}},
		"degenerate":   {[Most]Params{{1, 1}, {1, 1}}, all, Params{3}},
		"none is free": {full, [Most]bool{}, none},
		"flat":         {[Most]Params{}, all, none},
	} {
		calls, f := 0, quadratic(c.matrix, Params{1, 2, 3, 4})
		at, value := Climb(none, c.free, func(x Params) Moments {
			calls++
			return f(x)
		})
		if calls > 2 { // one step is enough, and what follows is foretold
			t.Errorf("%s: measured at %d points, want at most 2", name, calls)
		}
		for a := range at {
			if math.Abs(at[a]-c.want[a]) > 1e-9 {
				t.Errorf("%s: the largest value is at %v, want %v", name, at, c.want)
				break
			}
		}
		if want := f(at).Value; value != want {
			t.Errorf("%s: the value is %v, want %v", name, value, want)
		}
	}
}

// A function that is steeper than its second derivative tells makes Newton's step too long.
func TestStepsAreHalved(t *testing.T) {
	at, value := Climb(Params{3}, [Most]bool{true}, func(x Params) Moments {
		y := math.Cosh(x[0])
		return Moments{Value: -math.Log(y), Gradient: Params{-math.Tanh(x[0])},
			Matrix: [Most]Params{{1 / (y * y)}}}
	})
	if math.Abs(at[0]) > 0.05 || value < -1e-3 {
		t.Errorf("the largest value is %v at %v, want 0 at 0", value, at[0])
	}
}
