package loadtest

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Suite runs scenarios against a server and collects their figures. Within a scenario the compared
// measurements take turns: a round makes each of them once, and there are Repetitions rounds.
type Suite struct {
	Server    *Client
	Echo      *Client // an [Echo] with the server's answers
	InProcess Caller  // the server's search without server and network; nil: not measured

	Traffic     Traffic       // loaded users, lists and filters; the scenarios set the shares
	Warmup      time.Duration // of each measurement
	Duration    time.Duration // of each measurement
	Timeout     time.Duration // of each request
	Repetitions int

	// Sync, if set, measures the time of one small durable write on the server's disk.
	Sync func() (time.Duration, error)
	// RSS, if set, is the resident memory of the server in bytes.
	RSS func() int64
	// Work, if set, is the processor time that the server has used so far.
	Work func() time.Duration
	// Settle, if set, waits until the server has nearly finished the work that the measurement
	// before left behind.
	Settle func(context.Context)
	// Progress is called with the scenario or point of a sweep that runs and the number of its
	// measurements that are done.
	Progress func(what string, done, total int)

	series  []Series
	sources int // number made so far: each source draws other requests
}

// Series returns the measurements so far, a series for each quantity, in the order of the first
// measurement.
func (s *Suite) Series() []Series { return s.series }

// Continue takes over the series of another suite: further points of a series join those before.
func (s *Suite) Continue(other *Suite) { s.series, s.sources = other.series, other.sources }

// round makes each measurement of a scenario once.
type round struct {
	suite    *Suite
	group    string
	shown    string // text for the progress: the group and the point of it
	done     int    // measurements in this round and the ones before
	total    int
	measured []figure
}

// figure is one value of a quantity.
type figure struct {
	name, unit      string
	value           float64
	atMost, atLeast *float64
}

func (r *round) add(name, unit string, value float64) {
	r.measured = append(r.measured, figure{name: name, unit: unit, value: value})
}

// ratio adds a quotient, which may have a limit; nil: none.
func (r *round) ratio(name string, value float64, atMost, atLeast *float64) {
	r.measured = append(r.measured, figure{name, "ratio", value, atMost, atLeast})
}

func (r *round) latencies(name string, h *Histogram, quantiles ...quantile) {
	for _, q := range quantiles {
		r.add(name+" "+q.name, "µs", micros(h.Quantile(q.share)))
	}
}

// quantile is a share of latencies and its name.
type quantile struct {
	name  string
	share float64
}

var (
	p50  = quantile{"p50", 0.5}
	p90  = quantile{"p90", 0.9}
	p99  = quantile{"p99", 0.99}
	p999 = quantile{"p99.9", 0.999}
	most = quantile{"max", 1}
)

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// rounds runs the rounds of a scenario, each of the given number of measurements, and adds their
// figures as points at x to the series of the group. If it fails or ctx ends, the rounds before
// count.
func (s *Suite) rounds(
	ctx context.Context, group, xName string, x float64, measurements int,
	one func(context.Context, *round) error,
) error {
	values, shown := map[string][]float64{}, group
	if xName != "" { // each point begins anew
		shown = fmt.Sprintf("%s, %v %s", group, x, xName)
	}
	var first []figure
	var failure error
	for i := range s.Repetitions {
		if s.Settle != nil {
			s.Settle(ctx)
		}
		r := &round{suite: s, group: group, shown: shown, done: i * measurements,
			total: s.Repetitions * measurements}
		failure = one(ctx, r)
		if failure == nil {
			failure = ctx.Err() // a measurement that was cut short does not count
		}
		if failure != nil {
			break
		}
		if i == 0 {
			first = r.measured
		}
		for _, f := range r.measured {
			values[f.name] = append(values[f.name], f.value)
		}
	}
	for _, f := range first {
		s.point(group, xName, f, Point{X: x, Y: spreadOf(values[f.name])})
	}
	return failure
}

// point appends to a series, which is made if there is none yet.
func (s *Suite) point(group, xName string, f figure, p Point) {
	at := slices.IndexFunc(s.series,
		func(x Series) bool { return x.Group == group && x.Name == f.name })
	if at < 0 {
		at = len(s.series)
		s.series = append(s.series,
			Series{Group: group, Name: f.name, Unit: f.unit, X: xName, AtMost: f.atMost,
				AtLeast: f.atLeast})
	}
	s.series[at].Points = append(s.series[at].Points, p)
}

// begin announces the next measurement of a round.
func (r *round) begin() {
	r.suite.Progress(r.shown, r.done, r.total)
	r.done++
}

// closed runs a closed loop of this traffic.
func (r *round) closed(
	ctx context.Context, what string, to Caller, t Traffic, inFlight int,
) (*Result, error) {
	r.begin()
	s := r.suite
	loop := ClosedLoop{InFlight: inFlight, Warmup: s.Warmup, Duration: s.Duration,
		Timeout: s.Timeout}
	return checked(ctx, what,
		loop.Run(ctx, func(int) func() Request { return s.source(&t).Next }, to))
}

// paused runs a closed loop of one request in flight that sleeps this long before each.
func (r *round) paused(
	ctx context.Context, what string, to Caller, t Traffic, pause time.Duration,
) (*Result, error) {
	r.begin()
	s := r.suite
	loop := ClosedLoop{InFlight: 1, Warmup: s.Warmup, Duration: s.Duration, Timeout: s.Timeout}
	next := s.source(&t).Next
	a := newAlarm()
	defer a.close()
	rested := func() Request {
		a.sleep(pause)
		return next()
	}
	return checked(ctx, what, loop.Run(ctx, func(int) func() Request { return rested }, to))
}

// open runs an open loop of this traffic.
func (r *round) open(
	ctx context.Context, what string, to Caller, t Traffic, rate float64,
) (*Result, error) {
	r.begin()
	s := r.suite
	source := s.source(&t)
	loop := OpenLoop{Rate: rate, Warmup: s.Warmup, Duration: s.Duration, Timeout: s.Timeout,
		Seed: t.Seed + uint64(s.sources)}
	return checked(ctx, what, loop.Run(ctx, source.Next, to))
}

// source returns a new source of requests.
func (s *Suite) source(t *Traffic) *Source {
	s.sources++
	return t.Source(s.sources)
}

// checked refuses a result without meaning, see [Result.Err].
func checked(ctx context.Context, what string, r *Result) (*Result, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return r, nil
}

func limit(x float64) *float64 { return &x }
