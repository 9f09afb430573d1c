package admission

import (
	"math/bits"
	"time"
)

const (
	// window is the shortest time after which a limit changes, and samples the fewest calls.
	window  = 100 * time.Millisecond
	samples = 16
	// goal is the time that calls may run on average before the limit falls: a small part of any
	// deadline, and more than a garbage collection or a slow sync.
	goal = 25 * time.Millisecond
	// tolerance is the number of times that a call may take what it takes on an idle server, if
	// that is more than goal, and slowest the most that an idle server is taken to need.
	tolerance = 2
	slowest   = 250 * time.Millisecond
	// idle is the number of running calls up to which a server counts as idle.
	idle = 8
	// fall is the least factor of a fall, and 1/rise the relative step of a rise.
	fall = 0.5
	rise = 16
	// initial is the limit of a new server, unless its bounds are narrower.
	initial = 128
)

// limiter is a limit of running calls that rises while it is in use and falls when calls take much
// longer than on an idle server (additive increase, multiplicative decrease). Queues in front of
// the processor or the disk then stay short, whatever their speed. It falls in proportion to the
// excess, so that a sudden load is met within few windows.
type limiter struct {
	low, high int
	limit     float64

	since time.Time     // of the window
	sum   time.Duration // that the calls ran that finished in it
	n     int
	peak  int           // of the calls that were under way in it
	mean  time.Duration // from headers to answer, in the window before
	came  receipts      // of the messages of these calls
	usual time.Duration // from the headers to the message, in the window before
	floor time.Duration // the mean of a call on an idle server; 0: unknown
}

// newLimiter returns a limit that moves between low and high, and begins at initial.
func newLimiter(low, high int) limiter {
	return limiter{low: low, high: high, limit: float64(min(max(initial, low), high))}
}

func (l *limiter) get() int { return int(l.limit) }

// slow reports whether a message that has not come for this long is slow. On a server that is short
// of processor time a message that is there waits for its goroutine, and cannot be told from one
// that is on its way.
func (l *limiter) slow(waited time.Duration) bool {
	return waited > min(max(slowAfter, 4*l.usual), slowest*4)
}

// started notes how many calls are under way.
func (l *limiter) started(underWay int) { l.peak = max(l.peak, underWay) }

// finished notes the end of a call whose message came after this long, and that then ran for this
// long.
func (l *limiter) finished(now time.Time, came, took time.Duration) {
	if l.since.IsZero() {
		l.since = now
	}
	l.sum += took
	l.n++
	l.came.add(came)
	if l.n < samples || now.Sub(l.since) < window {
		return
	}
	// The median: senders that are slow must not look like a lack of processor time.
	l.usual = l.came.median(l.n)
	l.mean = l.usual + l.sum/time.Duration(l.n)
	l.learn()
	switch target := max(goal, tolerance*l.floor); {
	case l.mean > target:
		l.limit = max(l.limit*max(float64(target)/float64(l.mean), fall), float64(l.low))
	case l.peak >= l.get():
		l.limit = min(l.limit+l.limit/rise, float64(l.high))
	}
	l.since, l.sum, l.n, l.peak, l.came = now, 0, 0, 0, receipts{}
}

// learn follows the latency of an idle server. A busy one tells nothing of it: its calls wait for
// each other.
func (l *limiter) learn() {
	if l.peak > idle {
		return
	}
	mean := min(l.mean, slowest)
	if l.floor == 0 {
		l.floor = mean
	}
	l.floor += (mean - l.floor) / 8
}

// receipts counts messages by the time that they took to come: receipts[i] is the number of those
// that took less than 2^i µs, and not less than half of that.
type receipts [24]int

func (r *receipts) add(took time.Duration) {
	r[min(bits.Len64(uint64(max(took.Microseconds(), 0))), len(r)-1)]++
}

// median is the median of n messages, at most twice too large or too small.
func (r *receipts) median(n int) time.Duration {
	for i, in := range r {
		if n -= 2 * in; n <= 0 {
			return time.Microsecond << i * 3 / 4
		}
	}
	return 0
}
