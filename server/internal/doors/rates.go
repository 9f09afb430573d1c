package doors

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxRate is the largest number that a line may allow; without one there is no limit.
const maxRate = 1_000_000

// rates bound what the tokens of a line may do in a period, those of each subject on their own. A
// token may do all of it at once.
type rates struct {
	what   string // is counted, with the period, for errors: calls a second
	period time.Duration
	number int // 0: no limit

	mu sync.Mutex
	// A limiter may owe what it gives in a period, see NewUsers of package ingest. One that nobody
	// asked for two periods is as a new one is, so two generations of that time or more have all
	// that matters. Only tokens that are known come here, so that strangers take no memory.
	newer, older map[string]*rate.Limiter
	turned       time.Time
}

// of returns the limiter of a subject; nil: there is no limit.
func (r *rates) of(subject string, clock func() time.Time) *rate.Limiter {
	if r.number == 0 {
		return nil
	}
	now, kept := clock(), 2*r.period
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.turned) >= kept {
		if now.Sub(r.turned) >= 2*kept {
			r.newer = nil
		}
		r.newer, r.older, r.turned = map[string]*rate.Limiter{}, r.newer, now
	}
	l := r.newer[subject]
	if l == nil {
		if l = r.older[subject]; l == nil {
			l = rate.NewLimiter(rate.Every(r.period/time.Duration(r.number)), r.number)
		}
		r.newer[subject] = l
	}
	return l
}

// take counts a call of a subject, and reports whether it may go on.
func (r *rates) take(subject string, clock func() time.Time) bool {
	l := r.of(subject, clock)
	return l == nil || l.AllowN(clock(), 1)
}
