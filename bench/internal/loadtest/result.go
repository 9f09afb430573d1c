package loadtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Result holds the outcomes of the requests of one loop, without those of its warm-up.
type Result struct {
	// Latency is that of the requests of each kind that were answered or missed their deadline.
	Latency [numKinds]*Histogram
	// Late is, in an open loop, the delay of sending behind the intended time. It is the fault of
	// this process alone.
	Late    *Histogram
	Elapsed time.Duration // measured time

	mu       sync.Mutex
	answered int64
	failed   int64
	firstErr error
}

func newResult() *Result {
	r := &Result{Late: NewHistogram()}
	for k := range r.Latency {
		r.Latency[k] = NewHistogram()
	}
	return r
}

// record notes a request that took this long and ended with err. The latency of a request that
// missed its deadline counts too, or a server would look fast by not answering.
func (r *Result) record(kind Kind, latency, timeout time.Duration, err error) {
	missed := errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded
	if err == nil {
		r.Latency[kind].Record(latency)
	} else if missed {
		r.Latency[kind].Record(max(latency, timeout))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.answered++
		return
	}
	r.failed++
	if r.firstErr == nil {
		r.firstErr = err
	}
}

// Failed is the number of requests that failed or missed their deadline.
func (r *Result) Failed() int64 { return r.failed }

// Rate is the number of answered requests a second.
func (r *Result) Rate() float64 { return float64(r.answered) / r.Elapsed.Seconds() }

var errTooShort = errors.New(
	"no request was answered in the time that was measured: measure longer")

// Err returns an error if the figures mean nothing because more than one request in ten failed
// or none was answered.
func (r *Result) Err() error {
	if r.failed == 0 && r.answered > 0 || r.failed*10 <= r.answered && r.answered > 0 {
		return nil
	}
	if r.firstErr == nil {
		return errTooShort
	}
	return fmt.Errorf("%d of %d requests failed, the first: %w", r.failed, r.failed+r.answered,
		r.firstErr)
}
