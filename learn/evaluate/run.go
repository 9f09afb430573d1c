package evaluate

import (
	"errors"
	"sync/atomic"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/spectral"
)

// Options of [Run].
type Options struct {
	Methods []Method

	// Paper is the base of the methods with a filter. The name of the filter is the method's; the
	// constants of Spec.Filter count for each. Learned is the base of learned dynamics. See
	// [NeedsOf].
	Paper, Learned Ingredients

	MRFCFA float64 // constant a of mrfcf, above 1

	// NoCalibration leaves Result.Calibration out. It counts every event of the test histories, so
	// it says nothing if these repeat each other.
	NoCalibration bool

	// Progress, if set, is told of the stages of the methods: "ranking by" each, after those of
	// learned dynamics. A stage begins with its first call. Its share is that of the test users
	// ranked, or of the work of the stage. It may be called from several goroutines at once.
	Progress func(stage string, done, total int)

	// Fitted, if set, is called with the model of each [ModelMethod] before it ranks, and when it
	// has chosen constants. [ByTime] sets it for itself.
	Fitted func(m *model.Model)

	// Done, if set, is called when a method has finished, in order.
	Done func(r *Result)
}

// Ingredients of a model besides the users' histories.
type Ingredients struct {
	Basis *spectral.Basis
	Spec  model.Spec

	Candidates fit.Candidates // of learned dynamics, see train.Config.Candidates
}

// Task is what a method is asked to do, and its answer.
type Task struct {
	Part    *dataset.Partition
	Options *Options

	// Ranks takes the rank, from 1, of the last item of each test user among all items that the
	// items before it do not have. It has an element for each test user.
	Ranks []int32

	// constants chosen on the validation users, by name; may stay nil
	Chosen map[string]float64
	// the variant chosen on the validation users, such as a filter; may stay empty
	Variant     string
	Calibration *Calibration // of a model that knows its variance; may stay nil

	name string
}

// newTask returns the task of a method on the test users of p.
func newTask(p *dataset.Partition, opt *Options, m Method) *Task {
	return &Task{Part: p, Options: opt, Ranks: make([]int32, p.Test.Len()), name: m.Name()}
}

// Run ranks the target of every test user of p by each method. The results are in the order of the
// methods. The error of a method is in the place of its name.
func Run(p *dataset.Partition, opt Options) ([]Result, error) {
	if p.Test.Len() == 0 {
		return nil, errors.New(
			"no test user has two or more items that a training user has: nothing to measure")
	}
	results := make([]Result, 0, len(opt.Methods))
	for _, m := range opt.Methods {
		t := newTask(p, &opt, m)
		if !m.Needs().Learned { // learned dynamics have stages before they rank
			t.progress(0)
		}
		if err := m.Rank(t); err != nil {
			return nil, fault.In(m.Name(), err)
		}
		results = append(results, t.result())
		if opt.Done != nil {
			opt.Done(&results[len(results)-1])
		}
	}
	return results, nil
}

// onValidation returns p with up to limit of its validation users as test users; 0 stands for all.
func onValidation(p *dataset.Partition, limit int) *dataset.Partition {
	out := *p
	out.Test = p.Validation
	if limit == 0 || p.Validation.Len() <= limit {
		return &out
	}
	out.Test = dataset.Histories{Ptr: []int64{0}, Hidden: p.Validation.Hidden}
	for i := range limit {
		appendHistory(&out.Test, &p.Validation, i*p.Validation.Len()/limit)
	}
	return &out
}

// appendHistory appends the u-th history of from to h.
func appendHistory(h, from *dataset.Histories, u int) {
	h.Item = append(h.Item, from.Of(u)...)
	h.Time = append(h.Time, from.Times(u)...)
	h.Weight = append(h.Weight, from.Weights(u)...)
	endHistory(h, int(from.User[u]))
}

func (t *Task) result() Result {
	r := newResult(t.name, t.Ranks)
	r.Chosen, r.Variant, r.Calibration = t.Chosen, t.Variant, t.Calibration
	return r
}

// split returns the known items of the u-th user of h, and the target.
func split(h *dataset.Histories, u int) (seen []int32, target int32) {
	items := h.Of(u)
	last := len(items) - 1
	return items[:last], items[last]
}

// forEachUser calls do(u) for every test user, on all processors. newWorker is called once for each
// worker and returns its do.
func (t *Task) forEachUser(newWorker func() (do func(u int))) {
	forEach(len(t.Ranks), t.progress, newWorker)
}

// forEach calls do(u) for all u below n, on all processors, and tells progress, if set, of every
// 64th.
func forEach(n int, progress func(done int), newWorker func() (do func(u int))) {
	var done atomic.Int64
	parallel.TasksWith(n, func() func(u int) {
		do := newWorker()
		return func(u int) {
			do(u)
			if d := done.Add(1); d%64 == 0 && progress != nil {
				progress(int(d))
			}
		}
	})
}

// progress tells how many test users are ranked, as "ranking by" the method.
func (t *Task) progress(done int) {
	if t.Options.Progress != nil {
		t.Options.Progress("ranking by "+t.name, done, len(t.Ranks))
	}
}
