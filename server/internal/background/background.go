// Package background holds the shared parts of the server's background work: rest, sampling and
// recovery from panics.
package background

import (
	"context"
	"time"
)

// A Guard runs work and returns its error. A panic of the work is logged and counted, and becomes
// an error; what names the work in the log.
type Guard func(ctx context.Context, what string, work func() error) error

// Rest sleeps for worked·(1/dutyCycle − 1), so that the work takes the share dutyCycle, above 0 and
// at most 1, of the time. It returns the error of ctx if that ends.
func Rest(ctx context.Context, worked time.Duration, dutyCycle float64) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Duration(float64(worked) * (1/dutyCycle - 1))):
		return nil
	}
}

// workSlice is the time of work between two rests of a [Pacer].
const workSlice = 5 * time.Millisecond

// A Pacer keeps the work of a loop to a share of the time.
type Pacer struct {
	dutyCycle float64
	began     time.Time
}

// NewPacer returns a pacer of work that begins now.
func NewPacer(dutyCycle float64) *Pacer { return &Pacer{dutyCycle, time.Now()} }

// Pause rests once a slice of work is done. It returns the error of ctx if that ends.
func (p *Pacer) Pause(ctx context.Context) error {
	worked := time.Since(p.began)
	if worked < workSlice {
		return ctx.Err()
	}
	if err := Rest(ctx, worked, p.dutyCycle); err != nil {
		return err
	}
	p.began = time.Now()
	return nil
}

// Except does what is no work of the loop, since it rests by itself.
func (p *Pacer) Except(do func() error) error {
	began := time.Now()
	err := do()
	p.began = p.began.Add(time.Since(began))
	return err
}

// Draw returns a number in [0, 1) that is uniform over users and revisions, and the same in every
// process: a hash (FNV-1a and the finalizer of SplitMix64).
func Draw(user string, revision uint64) float64 {
	h := uint64(14695981039346656037)
	for i := range len(user) {
		h = (h ^ uint64(user[i])) * 1099511628211
	}
	h ^= revision * 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	h ^= h >> 31
	return float64(h>>11) / (1 << 53)
}

// Ended runs fn in the background and returns a channel that is closed at its end.
func Ended(fn func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		fn()
		close(done)
	}()
	return done
}

// Within reports whether done is closed within d, or is closed already.
func Within(done <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
	}
	select { // both may be ready
	case <-done:
		return true
	default:
		return false
	}
}
