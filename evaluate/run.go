package evaluate

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/gsimc/gsimc/train"

	"github.com/gsimc/gsimc/dataset"
	"github.com/gsimc/gsimc/internal/parallel"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/spectral"
)

// Options of [Run].
type Options struct {
	Methods []Method
	// Paper is what the methods with a filter are built from. The name of the
	// filter is the method's; the constants of Spec.Filter count for each. Only
	// needed if NeedsBasis.
	Paper Ingredients
	// Learned is what learned dynamics are built from, if NeedsDynamics.
	Learned Ingredients
	// MRFCFA is the constant a of mrfcf.
	MRFCFA float64
	// Progress, if set, is told now and then how many of the test users a
	// method has ranked, or the share of them that stands for its work so far.
	// It may be called from several goroutines at once.
	Progress func(m Method, done, total int)
	// Done, if set, is called when a method has finished, in order.
	Done func(r *Result)
}

// Ingredients of a model besides the users' histories.
type Ingredients struct {
	Basis *spectral.Basis
	Spec  model.Spec
}

// DefaultMRFCFA is the paper's constant a of MRFCF.
const DefaultMRFCFA = 2

// Run ranks the target of every test user of p by each method. The results are
// in the order of the methods.
func Run(p *dataset.Partition, opt Options) ([]Result, error) {
	if p.Test.Len() == 0 {
		return nil, errors.New("no test user has two or more items that a training user has: nothing to measure")
	}
	results := make([]Result, 0, len(opt.Methods))
	for _, m := range opt.Methods {
		r := &runner{p: p, opt: &opt, method: m, ranks: make([]int32, p.Test.Len())}
		if err := r.run(); err != nil {
			return nil, fmt.Errorf("%v: %w", m, err)
		}
		results = append(results, newResult(m, r.ranks))
		results[len(results)-1].Chosen = r.chosen
		results[len(results)-1].Calibration = r.calibration
		if opt.Done != nil {
			opt.Done(&results[len(results)-1])
		}
	}
	return results, nil
}

// runner ranks all test users by one method.
type runner struct {
	p           *dataset.Partition
	opt         *Options
	method      Method
	ranks       []int32
	chosen      map[string]float64 // constants chosen on the validation users
	calibration *Calibration
}

func (r *runner) run() error {
	switch r.method.Kind {
	case Popularity:
		return r.runPopularity()
	case MRFCF:
		return r.runMRFCF()
	case EASE, EASEForgetting:
		return r.runEASE()
	}
	return r.runModel()
}

func (r *runner) runPopularity() error {
	degrees := train.Incidence(r.p).Degrees()
	r.forEachUser(func() func(u int) {
		return func(u int) {
			history, target := r.split(u)
			r.ranks[u] = rank(degrees, target, history)
		}
	})
	return nil
}

// model builds the model of the method.
func (r *runner) model() (*model.Model, error) {
	from := r.opt.Paper
	if r.method.learned() {
		from = r.opt.Learned
	} else {
		from.Spec.Filter.Name = r.method.Filter
	}
	if from.Basis == nil {
		return nil, errors.New("needs a basis")
	}
	return model.New(from.Spec, from.Basis, r.p.Items, train.LearnFrom(r.p))
}

func (r *runner) runModel() error {
	m, err := r.model()
	if err != nil {
		return err
	}
	if m.HasVariance() {
		if r.calibration, err = newCalibration(m, train.Histories(&r.p.Test)); err != nil {
			return err
		}
	}
	r.forEachUser(func() func(u int) {
		scores, q := make([]float32, m.NumItems()), make([]float32, m.Rank())
		return func(u int) {
			h := train.History(&r.p.Test, u)
			r.method.query(m, q, h[:len(h)-1])
			m.ScoresTo(scores, q)
			seen, target := r.split(u)
			r.ranks[u] = rank(scores, target, seen)
		}
	})
	return nil
}

// query stores in q what the method makes of a history.
func (method Method) query(m *model.Model, q []float32, h model.History) {
	state, estimator := m.NewState(), model.EstimatorBGS
	switch {
	case method.Kind == GS:
		estimator = model.EstimatorGS
	case method.Kind == BGS && len(h) > 0: // the last history item is the online update
		state = m.InitialState(h[:len(h)-1])
		h = h[len(h)-1:]
	}
	for _, e := range h {
		m.Fold(state, e)
	}
	m.QueryTo(q, state, estimator)
}

// mrfcfBlock is how many users share a pass over R: more of them no longer fit the caches.
const mrfcfBlock = 32

func (r *runner) runMRFCF() error {
	n := len(r.p.Items)
	filter, err := spectral.NewMRFCF(train.Incidence(r.p), r.opt.MRFCFA)
	if err != nil {
		return err
	}
	scores := make([]float64, n)
	for lo := 0; lo < len(r.ranks); lo += mrfcfBlock {
		b := min(mrfcfBlock, len(r.ranks)-lo)
		s, y := make([]float64, n*b), make([]float64, n*b)
		for c := range b {
			h := train.History(&r.p.Test, lo+c)
			for _, e := range h[:len(h)-1] {
				s[int(e.Item)*b+c] += float64(e.Weight)
			}
		}
		if err := filter.FilterTo(y, s, b); err != nil {
			return err
		}
		for c := range b {
			for i := range scores {
				scores[i] = y[i*b+c]
			}
			seen, target := r.split(lo + c)
			r.ranks[lo+c] = rank(scores, target, seen)
		}
		r.progress(lo + b)
	}
	return nil
}

// split returns what is known of test user u, and what is to be found.
func (r *runner) split(u int) (seen []int32, target int32) {
	items := r.p.Test.Of(u)
	last := len(items) - 1
	return items[:last], items[last]
}

// forEachUser calls do(u) for every test user, on all processors. newWorker is
// called once for each worker and returns its do.
func (r *runner) forEachUser(newWorker func() (do func(u int))) {
	var done atomic.Int64
	parallel.TasksWith(len(r.ranks), func() func(u int) {
		do := newWorker()
		return func(u int) {
			do(u)
			if d := done.Add(1); d%64 == 0 {
				r.progress(int(d))
			}
		}
	})
}

func (r *runner) progress(done int) {
	if r.opt.Progress != nil {
		r.opt.Progress(r.method, done, len(r.ranks))
	}
}
