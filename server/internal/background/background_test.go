package background

import (
	"fmt"
	"math"
	"testing"
)

// TestDraw checks that the sample has the size that was asked for, along users and along revisions,
// and that it is the same at any time.
func TestDraw(t *testing.T) {
	const n, share = 20_000, 0.05
	for name, draws := range map[string]func(i int) float64{
		"users":     func(i int) float64 { return Draw(fmt.Sprint("user-", i), 1) },
		"revisions": func(i int) float64 { return Draw("user", uint64(i)) },
		"both":      func(i int) float64 { return Draw(fmt.Sprint(i%100), uint64(i/100)) },
	} {
		taken := 0
		for i := range n {
			x := draws(i)
			if x < 0 || x >= 1 || x != draws(i) {
				t.Fatalf("%s: draw %d is %v", name, i, x)
			}
			if x < share {
				taken++
			}
		}
		if sigma := math.Sqrt(n * share * (1 - share)); math.Abs(float64(taken)-n*share) > 5*sigma {
			t.Errorf("%s: %d of %d are taken, want about %v", name, taken, n, n*share)
		}
	}
	if got := Draw("alice", 7); math.Abs(got-0.08987792189900079) > 1e-15 {
		t.Errorf(
			"the draw of alice's seventh event is %v, so samples are not what they were before",
			got)
	}
}
