package doors

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxRate is the largest number of calls a second that a line may allow; without one there is no
// limit.
const maxRate = 1_000_000

// rates bound the calls of the tokens of a line, those of each subject on their own. A token may
// make the calls of a second at once.
type rates struct {
	perSecond int // 0: no limit

	mu sync.Mutex
	// A limiter that nobody asked for a second is as a new one is, so two generations of a second
	// or more have all that matters. Only tokens that are known come here, so that strangers take
	// no memory.
	newer, older map[string]*rate.Limiter
	turned       time.Time
}

// take counts a call of a subject, and reports whether it may go on.
func (r *rates) take(subject string, clock func() time.Time) bool {
	if r.perSecond == 0 {
		return true
	}
	now := clock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.turned) >= time.Second {
		if now.Sub(r.turned) >= 2*time.Second {
			r.newer = nil
		}
		r.newer, r.older, r.turned = map[string]*rate.Limiter{}, r.newer, now
	}
	l := r.newer[subject]
	if l == nil {
		if l = r.older[subject]; l == nil {
			l = rate.NewLimiter(rate.Limit(r.perSecond), r.perSecond)
		}
		r.newer[subject] = l
	}
	return l.AllowN(now, 1)
}
