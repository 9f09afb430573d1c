package rounds

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/bench/internal/result"
	"github.com/gsimc/gsimc/internal/test/check"
)

func TestAlternate(t *testing.T) {
	var order []string
	contestant := func(name string) Contestant {
		n := 0.0
		return Contestant{Name: name, Role: result.Peer, Run: func() (float64, error) {
			order = append(order, name)
			n++
			return n, nil
		}}
	}
	var told []int
	series, err := Alternate(t.Context(), 3,
		[]Contestant{contestant("a"), contestant("b"), contestant("c")},
		func(round int, _ string) { told = append(told, round) })
	check.Must(t, err)
	if got, want := strings.Join(order, ""), "abcbcacab"; got != want {
		t.Errorf("the turns were %s, want %s", got, want)
	}
	check.Same(t, []int{0, 0, 0, 1, 1, 1, 2, 2, 2}, told, "progress")
	var want []result.Series
	for _, name := range []string{"a", "b", "c"} {
		want = append(want,
			result.Series{Name: name, Role: result.Peer, Samples: []float64{1, 2, 3}})
	}
	check.Same(t, want, series, "series")
}

func TestAlternateStops(t *testing.T) {
	broken := errors.New("broken")
	turns := 0
	good := Contestant{Name: "good", Run: func() (float64, error) { turns++; return 1, nil }}
	bad := Contestant{Name: "bad", Run: func() (float64, error) { return 0, broken }}
	if _, err := Alternate(t.Context(), 2, []Contestant{good, bad, good}, nil); !errors.Is(err,
		broken) ||
		!strings.Contains(err.Error(), "bad") {
		t.Errorf("error %v, want it to name the contestant and wrap its error", err)
	}
	check.Same(t, 1, turns, "turns before the error stopped the rounds")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	check.Fails(t, check.Err(Alternate(ctx, 1, []Contestant{good}, nil)), context.Canceled,
		"Alternate")
}

func TestMedian(t *testing.T) {
	calls := 0
	seconds, err := Median(0, func(i int) error {
		check.Same(t, calls, i, "call %d has the number", calls)
		calls++
		return nil
	})
	if err != nil || calls != 3 || seconds < 0 {
		t.Errorf("%d calls, %v s, %v; want 3 calls", calls, seconds, err)
	}
	broken := errors.New("broken")
	check.Fails(t, check.Err(Median(0, func(int) error { return broken })), broken, "Median")
}

// TestMedianOfProcessor: waiting costs no time of the processor, work does.
func TestMedianOfProcessor(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no clock of the process")
	}
	const wait = 30 * time.Millisecond
	waited, err := MedianOfProcessor(0, func(int) error { time.Sleep(wait); return nil })
	if err != nil || waited > wait.Seconds()/2 {
		t.Errorf("sleeping for %v took %v s of the processor, %v", wait, waited, err)
	}
	worked, err := MedianOfProcessor(0, func(int) error {
		for begin := processorTime(); processorTime()-begin < wait; {
			continue
		}
		return nil
	})
	if err != nil || worked < wait.Seconds() {
		t.Errorf("working for %v took %v s of the processor, %v", wait, worked, err)
	}
}
