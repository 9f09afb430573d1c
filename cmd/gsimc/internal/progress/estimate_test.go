package progress

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
)

// TestEstimateWithinFactorTwo: from a quarter of the time on, the time left is right within a
// factor of two, although the machine is up to eight times slower or faster than the plan assumes,
// and single stages are mispredicted.
func TestEstimateWithinFactorTwo(t *testing.T) {
	rng := rand.New(rand.NewPCG(70, 71))
	uniform := func(lo, hi float64) float64 { return lo * math.Pow(hi/lo, rng.Float64()) }
	for range 300 {
		machine := uniform(1./8, 8)
		var plan []Stage
		var actual []float64
		total := 0.0
		for i := range 1 + rng.IntN(7) {
			s := Stage{Name: fmt.Sprint(i), Seconds: uniform(1, 60)}
			plan = append(plan, s)
			actual = append(actual, s.Seconds*machine*uniform(1/1.35, 1.35))
			total += actual[i]
		}
		var e estimate
		e.set(plan)
		spent, clock := 0.0, time.Unix(0, 0)
		for i, s := range plan {
			e.start(s.Name, clock)
			const parts = 40
			for p := range parts {
				share := float64(p) / parts
				at := spent + share*actual[i]
				now := time.Unix(0, 0).Add(time.Duration(at * 1e9))
				left, ok := e.left(share, now)
				if !ok {
					t.Fatal("no estimate within the plan")
				}
				if ratio := left.Seconds() / (total - at); at >= total/4 &&
					!(ratio > 0.5 && ratio < 2) {
					t.Errorf(
						"after %.0f%%: %v left, in truth %.1fs; machine %.2f, plan %v, actual %v",
						100*at/total, left, total-at, machine, plan, actual)
				}
			}
			spent += actual[i]
			clock = time.Unix(0, 0).Add(time.Duration(spent * 1e9))
		}
		e.finish(clock)
		if left, ok := e.left(0, clock); ok {
			t.Errorf("%v left after the last stage", left)
		}
	}
}

func TestEstimateOfUnplannedStages(t *testing.T) {
	var e estimate
	now := time.Unix(0, 0)
	if _, ok := e.left(0.5, now); ok {
		t.Error("an estimate without a plan")
	}
	e.set([]Stage{{"a", 10}, {"b", 10}, {"c", 20}})
	e.start("other", now)
	if left, ok := e.left(0.5, now.Add(time.Minute)); ok {
		t.Errorf("%v left during a stage that is not of the plan", left)
	}
	e.finish(now)
	if left, ok := e.left(-1, now); !ok || left != 40*time.Second {
		t.Errorf("%v left, %v; want that of the plan", left, ok)
	}
	e.start("b", now) // without a
	if left, ok := e.left(0, now); !ok || left != 30*time.Second {
		t.Errorf("%v left, %v; want 30s", left, ok)
	}
	// A stage that reports nothing runs by the plan, and never counts as finished.
	for after, want := range map[time.Duration]time.Duration{
		5 * time.Second: 25 * time.Second, time.Hour: 20 * time.Second,
	} {
		if left, ok := e.left(-1, now.Add(after)); !ok || left < want {
			t.Errorf("after %v: %v left, %v; want at least %v", after, left, ok, want)
		}
	}
}

// TestEstimateOfCoarseShares: between two reports a stage goes on at its own pace.
func TestEstimateOfCoarseShares(t *testing.T) {
	var e estimate
	now := time.Unix(0, 0)
	e.set([]Stage{{"a", 10}})
	e.start("a", now)
	for at := 30.0; at < 95; at++ { // of 100 seconds, told in quarters
		told := math.Floor(at/25) / 4
		left, ok := e.left(told, now.Add(time.Duration(at*1e9)))
		if ratio := left.Seconds() / (100 - at); !ok || !(ratio > 0.5 && ratio < 2) {
			t.Errorf("after %vs: %v left", at, left)
		}
	}
}

// TestEstimateAfterAShortFirstStep: the pace of the first step of a stage says little. The times
// are those of a training.
func TestEstimateAfterAShortFirstStep(t *testing.T) {
	steps := []float64{0.2, 2.9, 1, 0.8, 1.9, 1.2, 1.5, 1, 1.2, 1.6, 1.4, 1.7}
	const before, after = 105.0, 11.0
	var e estimate
	start := time.Unix(0, 0)
	second := func(s float64) time.Time { return start.Add(time.Duration(s * 1e9)) }
	e.set([]Stage{{"solve", 105}, {"learn", 16}, {"rest", after}})
	e.start("solve", start)
	e.start("learn", second(before))
	total := before + after
	for _, s := range steps {
		total += s
	}
	for i, at := 0, before; i < len(steps); at, i = at+steps[i], i+1 {
		for part := 0.01; part < 1; part += 0.05 {
			now := at + part*steps[i]
			left, ok := e.left(float64(i)/float64(len(steps)), second(now))
			if ratio := left.Seconds() / (total - now); !ok || !(ratio > 0.6 && ratio < 1.7) {
				t.Errorf("%.1fs before the end: %v left", total-now, left)
			}
		}
	}
}

func TestRound(t *testing.T) {
	for d, want := range map[time.Duration]string{
		300 * time.Millisecond: "1s", 7400 * time.Millisecond: "7s", 38 * time.Second: "40s",
		94 * time.Second: "1m30s", 11*time.Minute + 40*time.Second: "12m0s",
		62*time.Minute + 50*time.Second: "1h5m0s",
	} {
		check.Same(t, want, round(d), "round(%v)", d)
	}
}
