package kalman_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/kalman"
)

func TestParseBands(t *testing.T) {
	const text = "0, 0.5,0.87@720h"
	got, err := kalman.ParseBands(text)
	want := []kalman.Band{{}, {Rho: 0.5}, {Rho: 0.87, HalfLife: 720 * 3600}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Fatalf("ParseBands(%q): %v, difference (-want +got):\n%s", text, err, diff)
	}
	again, err := kalman.ParseBands(kalman.FormatBands(got))
	if diff := cmp.Diff(got, again); err != nil || diff != "" {
		t.Fatalf("what FormatBands wrote: %v, difference (-before +after):\n%s", err, diff)
	}
}

func TestParseBandsRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", `"" is not a number from 0 to 1`},
		{"abc", `"abc" is not a number from 0 to 1`},
		{"0,2", `"2" is not a number from 0 to 1`},
		{"0,NaN", `"NaN" is not a number from 0 to 1`},
		{"0.5@5", `"5" is not a half-life`},
		{"0.5@1ms", `"1ms" is not a half-life`},
		{"0.5,0,0.50", `"0.50" is there twice`},
		{strings.Repeat("0.5,", 16) + "0.5", "is there twice"},
		{"0.1,0.12,0.13,0.14,0.15,0.16,0.17,0.18,0.19,0.2,0.21,0.22,0.23,0.24,0.25,0.26,0.27",
			"17 bands, want at most 16"},
	} {
		check.Says(t, check.Err(kalman.ParseBands(c.text)), c.want, "ParseBands(%q)", c.text)
	}
}
