package simd

import "testing"

func TestWithin(t *testing.T) {
	three := []string{"generic", "avx2", "avx512"}
	for _, tc := range []struct {
		supported   []string
		bound, want string
	}{
		{three, "", "avx512"}, {three, "avx512", "avx512"}, {three, "avx2", "avx2"},
		{three, "generic", "generic"}, {three, "sse", "avx512"},
		{three[:2], "avx512", "avx2"}, {three[:2], "", "avx2"},
		{three[:1], "avx2", "generic"}, {three[:1], "", "generic"},
		{[]string{"generic", "neon"}, "avx512", "neon"},
		{[]string{"generic", "neon"}, "generic", "generic"},
	} {
		if got := within(tc.supported, tc.bound); got != tc.want {
			t.Errorf("of %v, bound %q: %v, want %v", tc.supported, tc.bound, got, tc.want)
		}
	}
}

// TestBest: the bound in the environment of this process counts.
func TestBest(t *testing.T) {
	t.Setenv("GSIMC_CPU", "generic")
	if got := Best([]string{"generic", "avx2"}); got != "generic" {
		t.Errorf("GSIMC_CPU=generic: %q, want %q", got, "generic")
	}
}
