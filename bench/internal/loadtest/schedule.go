package loadtest

import (
	"context"
	"math/rand/v2"
	"time"
)

// schedule draws the intended times of an open loop: a Poisson process, whose gaps are exponential.
type schedule struct {
	rng  *rand.Rand
	mean time.Duration // between two arrivals
	at   time.Duration // of the last arrival, from the beginning
}

// newSchedule returns arrivals at this rate a second. Equal seeds give equal arrivals.
func newSchedule(rate float64, seed uint64) *schedule {
	return &schedule{rng: rand.New(rand.NewPCG(seed, scheduleStream)),
		mean: time.Duration(float64(time.Second) / rate)}
}

// next is the time of the next arrival, from the beginning.
func (s *schedule) next() time.Duration {
	s.at += time.Duration(s.rng.ExpFloat64() * float64(s.mean))
	return s.at
}

// clock is the time of an open loop, from its beginning.
type clock interface {
	now() time.Duration
	// sleepUntil returns at the given time, or later if the machine is busy, or early if ctx ends.
	sleepUntil(ctx context.Context, t time.Duration)
}

// realClock is the clock of the machine.
type realClock struct {
	begin time.Time
	alarm *alarm
}

func (c realClock) now() time.Duration { return time.Since(c.begin) }

// longestSleep bounds the time until an interrupt is noticed.
const longestSleep = 100 * time.Millisecond

func (c realClock) sleepUntil(ctx context.Context, t time.Duration) {
	for ctx.Err() == nil {
		left := t - c.now()
		if left <= 0 {
			return
		}
		c.alarm.sleep(min(left, longestSleep))
	}
}
