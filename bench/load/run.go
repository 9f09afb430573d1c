package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gsimc/gsimc/bench/internal/loadtest"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/file/atomicfile"
)

// bench is one run of the command.
type bench struct {
	*options
	dir      string // for everything that is made; removed at the end
	progress *progress
	report   *loadtest.Report
}

// overloadScenario is not part of all: it holds the server back.
const overloadScenario = "overload"

// Default numbers of requests in flight.
const (
	benchInFlight           = 32
	benchObserveInFlight    = 64
	benchVisibilityInFlight = 16
)

// scenarios runs one scenario, or all, against one server.
func (b *bench) scenarios(ctx context.Context, which string) (err error) {
	s, err := b.startGiven(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := b.load(ctx, s, 0, b.Users); err != nil {
		return err
	}
	echo, err := b.startEcho(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, echo.close(ctx)) }()

	suite := b.suite(s)
	suite.Echo, suite.InProcess = echo.client, newInProcess(s.model, &suite.Traffic, b.Events)
	suite.Sync = func() (time.Duration, error) { return durableWrite(b.dir) }
	defer func() { b.report.Series = suite.Series() }()
	share := benchLoadShare
	if b.Load != nil {
		share = float64(*b.Load)
	}
	// Those that write much come last: they give the most active users histories that nobody has.
	for _, scenario := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"latency", suite.Latency},
		{"throughput", func(ctx context.Context) error {
			return suite.Throughput(ctx, given(b.InFlight, benchInFlight))
		}},
		{"mixed", func(ctx context.Context) error {
			return suite.Mixed(ctx, loadtest.Load{
				Rate: b.Rate, Share: share, InFlight: given(b.InFlight, benchInFlight),
			})
		}},
		{"visibility", func(ctx context.Context) error {
			return suite.Visibility(ctx, given(b.InFlight, benchVisibilityInFlight))
		}},
		{"observe", func(ctx context.Context) error {
			return suite.Observe(ctx, given(b.InFlight, benchObserveInFlight))
		}},
		{"stream", func(ctx context.Context) error { return suite.Ingestion(ctx, b.Batch) }},
		{overloadScenario, func(ctx context.Context) error { return b.overload(ctx, s, suite) }},
	} {
		if which == "all" && scenario.name != overloadScenario || which == scenario.name {
			if err := scenario.run(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// suite returns the measurements of a server, with the flags' traffic and times.
func (b *bench) suite(s *subject) *loadtest.Suite {
	suite := &loadtest.Suite{
		Server: s.client, Traffic: b.traffic(s), Timeout: b.Timeout,
		Warmup: b.Warmup, Duration: b.Duration,
		Repetitions: b.Repetitions, Progress: b.progress.step,
	}
	if s.process != nil {
		pid := s.process.PID()
		suite.RSS = func() int64 { return loadtest.ResidentBytes(pid) }
		suite.Work = func() time.Duration { return loadtest.ProcessorTime(pid) }
		suite.Settle = func(ctx context.Context) { loadtest.Settle(ctx, pid) }
	}
	return suite
}

func (b *bench) traffic(s *subject) loadtest.Traffic {
	return loadtest.Traffic{
		Items: s.items, Users: b.Users, Page: b.Page, History: b.History, Allow: b.Allow,
		Deny: b.Deny, Packed: b.Packed,
		Observe: b.ObserveShare, Stream: b.StreamShare, Seed: b.Seed,
	}
}

// generate writes a model of n items and rank k and returns its path.
func (b *bench) generate(n, k int) (string, error) {
	b.progress.begin(fmt.Sprintf("generating a model of %d items, rank %d", n, k))
	path := filepath.Join(b.dir, fmt.Sprintf("n%d-k%d.gsimc", n, k))
	preset := cmp.Or(b.Preset, "learned")
	b.note("The models are generated, not trained: random bases with %s dynamics. A scan of a "+
		"trained basis can skip more.", preset)
	return path, writeBenchModel(path, n, k, preset == "learned", b.Seed)
}

// load streams the histories of users first up to end into the store.
func (b *bench) load(ctx context.Context, s *subject, first, end int) error {
	b.progress.begin(fmt.Sprintf("loading users %d to %d", first, end))
	t := b.traffic(s)
	err := s.client.Preload(ctx, &t, first, end, b.Events,
		func(int, int) {})
	if err != nil {
		return fmt.Errorf("loading users: %w", err)
	}
	if s.process != nil {
		loadtest.Settle(ctx, s.process.PID())
	}
	return nil
}

// note adds what a reader has to know, once.
func (b *bench) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(b.report.Notes, n) {
		b.report.Notes = append(b.report.Notes, n)
	}
}

// writeReport replaces the file at path.
func writeReport(path string, r *loadtest.Report) error {
	f, err := atomicfile.Create(path)
	if err != nil {
		return &fault.Fault{Field: "--json", Err: err}
	}
	if err := r.Write(f); err != nil {
		return errors.Join(error(&fault.Fault{Field: "--json", Err: err}), f.Abort())
	}
	return f.Close()
}

// syncs is how many durable writes one measurement of the disk makes.
const syncs = 50

// durableWrite is the median time of a write of 512 bytes to a file in dir, synced to the disk, in
// place of older ones.
func durableWrite(dir string) (_ time.Duration, err error) {
	f, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	block := make([]byte, 512)
	times := make([]time.Duration, 0, syncs)
	for i := range syncs + 1 {
		begin := time.Now()
		if _, err := f.WriteAt(block, 0); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		if i > 0 { // the first one makes the file
			times = append(times, time.Since(begin))
		}
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}
