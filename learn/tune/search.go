package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/spectral"
)

// Options of [Search].
type Options struct {
	Start   Candidate // where to begin; its rank may be above the ranks that the data allow
	MaxRank int       // largest rank to try
	Seed    uint64    // of the eigensolver

	// of an earlier search on the same data; they are not measured again
	Known []Trial
	Stop  func() bool                         // asked before every trial; true ends the search
	Tried func(t Trial, best Trial)           // told of every new trial; may be nil
	Stage func(stage string, done, total int) // progress within a trial; may be nil
}

// Result of a search.
type Result struct {
	Best   Trial
	Trials []Trial // all, known ones included, in the order of the search

	// With and Without are the scores of the best with and without the deviation of each user, by
	// the same arithmetic. They are zero without learned dynamics and after an interrupt.
	With, Without Trial

	Complete    bool // the search came to its end
	Interrupted bool // the context ended
}

// worthKnowing is the share of NDCG@10 that an uncertainty of the scores may cost.
const worthKnowing = 0.01

// KeepDeviation tells whether the deviation of each user is worth tracking. It gives scores their
// uncertainty, so it is kept unless the ranking clearly loses by it.
func (r *Result) KeepDeviation() bool { return r.With.NDCG >= (1-worthKnowing)*r.Without.NDCG }

// ErrNoTrial tells that a search ended before its first trial.
var ErrNoTrial = errors.New("the search ended before the first trial: give it more time")

// errStopped ends a search.
var errStopped = errors.New("stopped")

// Values of the constants, in order: the search moves between neighbours.
var (
	exponents = []float64{0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2}
	rescales  = []float64{0, 0.3, 0.6, 0.9, 1.2}
	ridges    = []float64{0.03, 0.1, 0.3, 1, 3, 10}
	ranks     = []int{32, 64, 96, 128, 192, 256, 362, 512, 724, 1024, 1448, 2048}
	alphas    = []float64{0.5, 0.7, 0.8, 0.87, 0.93, 0.97, 1}
	positions = []int64{20, 50, 200, 0}
	windows   = []int{0, 10, 20, 40, 80}
	bandSets  = []string{
		"0,0.5,0.87", "0,0.7", "0.7", "0,0.5,0.8,0.95", "0,0.3,0.6,0.8,0.9,0.97", "0,0.87,0.98",
		"0.3,0.8",
	}
)

// longestGap is the largest median of the times between events, in seconds, that 30 times are a
// half-life of: 3 years.
const longestGap = 1e8

// minUsers is the number of validation users below which a search means nothing.
const minUsers = 10

// search is one run of Search.
type search struct {
	ctx    context.Context
	opt    Options
	scorer *scorer
	known  map[Candidate]Trial
	result Result
}

// Search looks for the candidate with the largest NDCG@10 on the validation users of part.
//
// When ctx ends, Search returns at once with the best trial so far and Result.Interrupted. The
// trial under way is given up: its goroutine ends on its own, and its memory goes with it. The
// error is [ErrNoTrial] if no trial was finished.
func Search(ctx context.Context, part *dataset.Partition, opt Options) (*Result, error) {
	if users := part.Validation.Len(); users < minUsers {
		return nil, fmt.Errorf(
			"%d validation users with two items or more, want at least %d to choose by",
			users, minUsers)
	}
	s := &search{
		ctx: ctx, opt: opt, scorer: newScorer(part, opt.MaxRank, opt.Seed, opt.Stage),
		known: map[Candidate]Trial{},
	}
	for _, t := range opt.Known {
		s.known[t.Candidate] = t
	}
	err := s.run()
	if err != nil && !errors.Is(err, errStopped) && ctx.Err() == nil {
		return nil, err
	}
	s.result.Complete = err == nil
	if len(s.result.Trials) == 0 {
		return nil, ErrNoTrial
	}
	if err := s.deviation(); err != nil && ctx.Err() == nil {
		return nil, err
	}
	s.result.Interrupted = ctx.Err() != nil
	return &s.result, nil
}

// within returns the result of f, or the error of ctx if that ends before.
func within[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	if err := ctx.Err(); err != nil {
		return *new(T), err
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return *new(T), ctx.Err()
	}
}

func (s *search) run() error {
	start := s.opt.Start
	start.Rank = s.clampRank(start.Rank)
	if _, err := s.try(start); err != nil {
		return err
	}
	for _, step := range []func() error{
		s.rankAndRidge, s.exponent, s.windows, s.bands, s.rescale, s.rankAndRidge, s.positions,
		s.paper, s.exponent, s.rankAndRidge,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// try measures a candidate, unless that was done before, and keeps it if it is the best.
func (s *search) try(c Candidate) (Trial, error) {
	if at := slices.IndexFunc(s.result.Trials, func(t Trial) bool {
		return t.Candidate == c
	}); at >= 0 {
		return s.result.Trials[at], nil
	}
	t, ok := s.known[c]
	if !ok {
		if s.opt.Stop != nil && s.opt.Stop() {
			return Trial{}, errStopped
		}
		var err error
		t, err = within(s.ctx, func() (Trial, error) { return s.scorer.measure(c) })
		if errors.Is(err, errRank) {
			t, err = Trial{Candidate: c}, nil // no better than nothing
		}
		if err != nil {
			return Trial{}, fault.In(c.String(), err)
		}
	}
	s.result.Trials = append(s.result.Trials, t)
	if len(s.result.Trials) == 1 || t.NDCG > s.result.Best.NDCG {
		s.result.Best = t
	}
	if !ok && s.opt.Tried != nil {
		s.opt.Tried(t, s.result.Best)
	}
	return t, nil
}

// climb moves one constant of from to its neighbours in values, up or else down, as long as the
// score rises, and returns the best. measure scores a candidate, and may move other constants of it
// too.
func climb[T comparable](
	from Trial, values []T, field func(*Candidate) *T, measure func(Candidate) (Trial, error),
) (Trial, error) {
	best := from
	at := slices.Index(values, *field(&from.Candidate))
	if at < 0 {
		return best, nil
	}
	for _, step := range []int{1, -1} {
		for i := at + step; i >= 0 && i < len(values); i += step {
			c := best.Candidate
			*field(&c) = values[i]
			t, err := measure(c)
			if err != nil {
				return best, err
			}
			if t.NDCG <= best.NDCG {
				break
			}
			best = t
		}
		if best.Candidate != from.Candidate {
			break // it was uphill: what lies behind is lower
		}
	}
	return best, nil
}

// rankAndRidge climbs both from the best.
func (s *search) rankAndRidge() error {
	_, err := s.climbRank(s.result.Best.Candidate)
	return err
}

// climbRank climbs rank and ridge, which pull in opposite directions: more coordinates want more
// penalty.
func (s *search) climbRank(from Candidate) (Trial, error) {
	t, err := s.try(from)
	if err != nil {
		return t, err
	}
	t, err = climb(t, s.rankValues(), func(c *Candidate) *int { return &c.Rank }, s.try)
	if err != nil || !from.learned() {
		return t, err
	}
	return climb(t, ridges, func(c *Candidate) *float64 { return &c.Ridge }, s.try)
}

// rankValues are the ranks that the data and the options allow.
func (s *search) rankValues() []int {
	return upTo(min(s.opt.MaxRank, len(s.scorer.part.Items)), ranks)
}

// upTo returns the values, which ascend, up to most.
func upTo(most int, values []int) []int {
	n, _ := slices.BinarySearch(values, most+1)
	return values[:n]
}

func (s *search) clampRank(k int) int {
	allowed := s.rankValues()
	if len(allowed) == 0 {
		return min(k, s.opt.MaxRank, len(s.scorer.part.Items))
	}
	return allowed[max(0, len(upTo(k, allowed))-1)]
}

// exponent climbs s. Here and with windows rank and ridge move too: all of them say how many
// coordinates count.
func (s *search) exponent() error {
	if s.result.Best.Candidate.Graph != spectral.Hypergraph {
		return nil
	}
	_, err := climb(s.result.Best, exponents, func(c *Candidate) *float64 {
		return &c.DegreeExponent
	}, s.climbRank)
	return err
}

// windows climbs the length of the windows. Only where histories are long does it change anything.
func (s *search) windows() error {
	histories := &s.scorer.part.Train
	if mean := len(histories.Item) / max(1, histories.Len()); mean < windows[1] {
		return nil
	}
	_, err := climb(s.result.Best, windows, func(c *Candidate) *int {
		return &c.Window
	}, s.climbRank)
	return err
}

// bands tries every set of bands, and sets with a memory by time where events have times.
func (s *search) bands() error {
	if !s.result.Best.Candidate.learned() {
		return nil
	}
	from := s.result.Best.Candidate
	sets := slices.Clone(bandSets)
	if gap := medianGap(s.scorer.train); gap > 1 && gap <= longestGap {
		slow := time.Duration(gap) * 30 * time.Second
		sets = append(sets, fmt.Sprintf("0,0.5,0.87,1@%s", slow), fmt.Sprintf("0,0.5,0.9@%s", slow))
	}
	for _, set := range sets {
		c := from
		c.Bands = set
		if _, err := s.try(c); err != nil {
			return err
		}
	}
	return nil
}

func (s *search) rescale() error {
	_, err := climb(s.result.Best, rescales, func(c *Candidate) *float64 {
		return &c.DegreeRescale
	}, s.try)
	return err
}

func (s *search) positions() error {
	if !s.result.Best.Candidate.learned() {
		return nil
	}
	_, err := climb(s.result.Best, positions, func(c *Candidate) *int64 {
		return &c.Positions
	}, s.try)
	return err
}

// paper tries the filters of the paper with forgetting, on the best graph.
func (s *search) paper() error {
	best := s.result.Best.Candidate
	from := Candidate{
		Graph: best.Graph, Window: best.Window, DegreeExponent: best.DegreeExponent,
		DegreeRescale: best.DegreeRescale, Rank: best.Rank,
		Dynamics: model.DynamicsNone, Filter: spectral.PowerFilter, Phi: 10, Alpha: 0.87,
	}
	t, err := s.try(from)
	if err == nil {
		t, err = climb(t, alphas, func(c *Candidate) *float64 { return &c.Alpha }, s.try)
	}
	if err != nil {
		return err
	}
	for _, filter := range spectral.Filters {
		for _, phi := range []float64{1, 10} {
			c := t.Candidate
			c.Filter, c.Phi = filter.Name, phi
			if phi != 10 && !filter.Uses("Phi") {
				continue
			}
			if _, err := s.try(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// deviation finds out whether the best model ranks better with the deviation of each user. A search
// that was stopped does this too, since the written constants must have been compared; one that was
// interrupted does not.
func (s *search) deviation() error {
	best := s.result.Best.Candidate
	if !best.learned() {
		return nil
	}
	pair, err := within(s.ctx, func() (pair [2]Trial, err error) {
		pair[0], pair[1], err = s.scorer.withDeviation(best)
		return pair, err
	})
	s.result.With, s.result.Without = pair[0], pair[1]
	return err
}
