package admission

import "time"

const (
	// window is the shortest time after which a limit changes, and samples the fewest calls.
	window  = 100 * time.Millisecond
	samples = 16
	// slack is the delay that calls may cause each other before the limit falls. It is a small part
	// of any deadline, and more than a garbage collection or a slow sync.
	slack = 5 * time.Millisecond
	// tolerance is the number of times that a call may take what it takes on an idle server,
	// beside slack.
	tolerance = 2
	// decrease is the factor of a fall, and 1/increase the relative step of a rise.
	decrease = 0.85
	increase = 16
)

// limiter is a limit of running calls that rises while it is in use and falls when calls take much
// longer than on an idle server (additive increase, multiplicative decrease). Queues in front of
// the processor or the disk then stay short, whatever their speed.
type limiter struct {
	low, high int
	limit     float64

	since time.Time     // of the window
	sum   time.Duration // of the calls that finished in it
	n     int
	peak  int           // of the calls that ran in it
	mean  time.Duration // of the window before
	floor time.Duration // the mean of a call on an idle server; 0: unknown
}

// newLimiter returns a limit that moves between low and high, and begins in the middle.
func newLimiter(low, high int) limiter {
	return limiter{low: low, high: high, limit: float64(low+high) / 2}
}

func (l *limiter) get() int { return int(l.limit) }

// usual is the time that a call takes at present.
func (l *limiter) usual() time.Duration { return l.mean }

// started notes how many calls run.
func (l *limiter) started(running int) { l.peak = max(l.peak, running) }

// finished notes the end of a call that ran for this long.
func (l *limiter) finished(now time.Time, took time.Duration) {
	if l.since.IsZero() {
		l.since = now
	}
	l.sum += took
	l.n++
	if l.n < samples || now.Sub(l.since) < window {
		return
	}
	l.mean = l.sum / time.Duration(l.n)
	l.learn()
	switch {
	case l.mean > tolerance*l.floor+slack:
		l.limit = max(l.limit*decrease, float64(l.low))
	case l.peak >= l.get():
		l.limit = min(l.limit+l.limit/increase, float64(l.high))
	}
	l.since, l.sum, l.n, l.peak = now, 0, 0, 0
}

// learn follows the latency of an idle server: what calls take while few run, and never more than
// the least that was seen.
func (l *limiter) learn() {
	switch {
	case l.floor == 0 || l.mean < l.floor:
		l.floor = l.mean
	case l.peak <= l.low/4:
		l.floor += (l.mean - l.floor) / 8
	}
}
