package eigen

import (
	"math"
	"testing"

	"github.com/gsimc/gsimc/internal/num/cost"
	"github.com/gsimc/gsimc/internal/test/check"
)

const (
	testItems = 20000
	testSpeed = 1e-4 // seconds of a product with one vector
)

func testWorkload(k int, report func(done, total int)) *workload {
	return newWorkload[float32](Problem{K: k, Product: testSpeed, Meter: NewMeter(report)},
		testItems)
}

// TestWorkOfAStep: the products with K come with the degree of the filter, the projection with the
// number of columns.
func TestWorkOfAStep(t *testing.T) {
	w := testWorkload(200, nil)
	project := func(p int) float64 {
		return projectWork * testItems * float64(p+BlockSize) * BlockSize / cost.Single
	}
	for _, c := range []struct {
		p, degree int
		want      float64
	}{
		{0, 1, BlockSize*testSpeed + project(0)},
		{0, 4, 4*BlockSize*testSpeed + project(0)},
		{320, 1, BlockSize*testSpeed + project(320)},
	} {
		if got := w.step(c.p, c.degree); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("step behind %d columns, degree %d: %v, want %v", c.p, c.degree, got, c.want)
		}
	}
	if got, want := w.between(0, 3*BlockSize, 2), w.step(0, 2)+w.step(BlockSize, 2)+
		w.step(2*BlockSize, 2); math.Abs(got-want) > 1e-12 {
		t.Errorf("three steps take %v, want %v", got, want)
	}
	check.Same(t, 0.0, w.between(64, 64, 2), "seconds of no step")
}

// TestWorkGrows: more pairs, a larger space and float64 are more work; a part is less than the
// whole.
func TestWorkGrows(t *testing.T) {
	last := 0.0
	for _, k := range []int{64, 128, 256, 512, 1024} {
		p := Problem{K: k, Product: testSpeed}
		seconds := p.Seconds(testItems)
		if !(seconds > last) {
			t.Errorf("rank %d takes %v s, a smaller rank %v s", k, seconds, last)
		}
		last = seconds
		single, double := newWorkload[float32](p, testItems), newWorkload[float64](p, testItems)
		if !(double.expected > single.expected) {
			t.Errorf("rank %d: %v s in float64, %v s in float32", k, double.expected,
				single.expected)
		}
		if !(single.iteration > 0 && single.iteration < 1) {
			t.Errorf("rank %d: the iteration is %v of the whole", k, single.iteration)
		}
	}
	w := testWorkload(200, nil)
	if near, far := w.rest(300, 350, 4), w.rest(300, 600, 4); !(near > 0 && near < far) {
		t.Errorf("the rest from 300 columns takes %v s to 350 and %v s to 600", near, far)
	}
	if w.rest(300, 300, 4) != 0 {
		t.Error("a finished iteration has work left")
	}
}

// TestWorkReports: the reported shares rise, end at the share of the iteration at most, and follow
// the correction of the expected work.
func TestWorkReports(t *testing.T) {
	var shares []int
	w := testWorkload(200, func(done, _ int) { shares = append(shares, done) })
	w.meter.Begin(w.iteration)
	expected := w.expected
	for p := 0; p < 480; p += BlockSize {
		w.add(w.step(p, 4))
	}
	w.expect(480, 4, 100) // 100 pairs are missing
	if w.expected == expected || !(w.expected > w.done) {
		t.Errorf("%v s are expected after %v s, before the check %v s", w.expected, w.done,
			expected)
	}
	w.expect(480, 4, 0)
	check.Same(t, w.done, w.expected, "seconds at the last check")
	for i, s := range shares {
		if i > 0 && s <= shares[i-1] || s > Steps {
			t.Fatalf("shares %v do not rise to at most %d", shares, Steps)
		}
	}
	if len(shares) < 3 {
		t.Errorf("only %d reports", len(shares))
	}
}

// TestNoWorkload: a nil workload counts nothing.
func TestNoWorkload(t *testing.T) {
	var w *workload
	w.add(w.step(0, 1) + w.eigen(100))
	w.expect(0, 1, 10)
	if w.step(0, 1) != 0 || w.eigen(100) != 0 {
		t.Error("a nil workload has work")
	}
}
