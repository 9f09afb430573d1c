package loadtest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gsimc/gsimc/internal/test/check"
)

// Each load has its figures, and probes run beside it.
func TestOverload(t *testing.T) {
	s := testSuite(t)
	s.Repetitions = 1
	var probed atomic.Int64
	probe := func(context.Context) error {
		if probed.Add(1)%2 == 0 {
			return errors.New("no")
		}
		return nil
	}
	check.Must(t, s.Overload(t.Context(), Overload{InFlight: 4, Probe: probe}))
	for _, name := range []string{"0.8× goodput / capacity", "10× goodput / capacity",
		"2× admitted p99 / that at 0.8×"} {
		if y := s.find(t, "overload", name).Points[0].Y.Median; !(y > 0) {
			t.Errorf("%s is %v", name, y)
		}
	}
	good := s.find(t, "overload", "0.8× probes").Points[0].Y.Median
	bad := s.find(t, "overload", "0.8× bad probes").Points[0].Y.Median
	if bad < 1 || good <= bad {
		t.Errorf("%v of %v probes are bad, want half", bad, good)
	}
}

// What becomes of calls is told apart.
func TestTally(t *testing.T) {
	outcomes := []error{nil, status.Error(codes.ResourceExhausted, ""),
		status.Error(codes.DeadlineExceeded, ""), status.Error(codes.Unavailable, "")}
	tally := &tally{admitted: NewHistogram()}
	for i, err := range outcomes {
		for range i + 1 {
			tally.to = callerFunc(func(context.Context, Request) error { return err })
			_ = tally.Call(t.Context(), Request{})
		}
	}
	if tally.answered != 1 || tally.refused != 2 || tally.missed != 3 || tally.failed != 4 ||
		tally.admitted.Count() != 1 {
		t.Errorf("%d, %d, %d, %d", tally.answered, tally.refused, tally.missed, tally.failed)
	}
}
