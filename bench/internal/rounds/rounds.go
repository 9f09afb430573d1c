// Package rounds lets contestants take turns at the same work.
//
// One after the other would compare the machine of now with the machine of then: clock, memory and
// neighbours change by tens of percent within a minute. In turn, every contestant meets every phase
// of it.
package rounds

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gsimc/gsimc/bench/internal/result"
)

// Contestant is one of the programs or functions that are compared.
type Contestant struct {
	Name string
	Role result.Role
	// Recall is that of an approximate one, if it is known: see result.Series.
	Recall float64
	// Run does the work of one round and returns the sample, such as the time that it took.
	Run func() (float64, error)
}

// Alternate runs n rounds of all contestants. The contestant that begins changes from round to
// round, so that none always comes after the same one. progress is told before each turn, and may
// be nil.
func Alternate(
	ctx context.Context,
	n int,
	contestants []Contestant,
	progress func(round int, name string),
) ([]result.Series, error) {
	series := make([]result.Series, len(contestants))
	for i, c := range contestants {
		series[i] = result.Series{Name: c.Name, Role: c.Role, Recall: c.Recall}
	}
	for round := range n {
		for turn := range contestants {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			i := (round + turn) % len(contestants)
			if progress != nil {
				progress(round, contestants[i].Name)
			}
			sample, err := contestants[i].Run()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", contestants[i].Name, err)
			}
			series[i].Samples = append(series[i].Samples, sample)
		}
	}
	return series, nil
}

// Median repeats work, at least three times and until the time is used up, and returns the median
// of the seconds it took.
func Median(use time.Duration, work func(i int) error) (float64, error) {
	return median(use, sinceStart, work)
}

// MedianOfProcessor is Median in seconds of the processor, of all threads of this process together.
// Other programs that want the same processors do not count. By the clock they would count most
// against those who take longest: a short call ends before its thread is interrupted, a long one
// waits for its next turn.
func MedianOfProcessor(use time.Duration, work func(i int) error) (float64, error) {
	return median(use, processorTime, work)
}

// start is what durations by the clock are measured from.
var start = time.Now()

func sinceStart() time.Duration { return time.Since(start) }

func median(
	use time.Duration, now func() time.Duration, work func(i int) error,
) (float64, error) {
	var seconds []float64
	for begin := time.Now(); len(seconds) < 3 || time.Since(begin) < use; {
		before := now()
		if err := work(len(seconds)); err != nil {
			return 0, err
		}
		seconds = append(seconds, (now() - before).Seconds())
	}
	slices.Sort(seconds)
	return result.SpreadOf(seconds).Median, nil
}
