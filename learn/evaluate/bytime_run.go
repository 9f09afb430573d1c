package evaluate

import (
	"cmp"
	"errors"
	"slices"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/num/stat"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
)

// chooser is a method with constants that are chosen on the validation users.
type chooser interface {
	Method

	// choose returns the method with the constants that are best for the validation users of
	// t.Part. It may rank the test users.
	choose(t *Task) (Method, error)
}

// asChooser returns m as a chooser if it chooses constants. Models with a filter choose none.
func asChooser(m Method) (chooser, bool) {
	if f, ok := m.(ModelMethod); ok && !f.Learned() {
		return nil, false
	}
	c, ok := m.(chooser)
	return c, ok
}

// Choosers returns those of the methods that choose constants.
func Choosers(methods []Method) (out []Method) {
	for _, m := range methods {
		if _, ok := asChooser(m); ok {
			out = append(out, m)
		}
	}
	return out
}

// Choose returns the methods of opt in their order. A method that chooses constants is returned
// with those that are best for the validation users of p, and its result lists them. The error of a
// method is in the place of its name.
func Choose(p *dataset.Partition, opt Options) ([]Method, error) {
	out := make([]Method, 0, len(opt.Methods))
	for _, m := range opt.Methods {
		if c, ok := asChooser(m); ok {
			t := newTask(p, &opt, m)
			t.progress(0)
			chosen, err := c.choose(t)
			if err != nil {
				return nil, fault.In(m.Name(), err)
			}
			m = chosen
		}
		out = append(out, m)
	}
	return out, nil
}

// Choose is [Choose] for the events of Choosing.
func (x *ByTime) Choose(opt Options) ([]Method, error) { return Choose(x.Choosing, opt) }

// Run ranks the targets by each method, with Final as the partition, and with learned dynamics by
// [Trending] and by the model of Old. Trending ranks a cold target by what is popular at its time,
// and the others by the degrees of the training, as a server without trends answers a user without
// events. The standard errors are those of a mean over users whose targets belong together.
func (x *ByTime) Run(opt Options) ([]Result, error) {
	if x.Final.Test.Len() == 0 {
		return nil, errors.New("no user has an event before one to predict: nothing to measure")
	}
	opt.NoCalibration = true
	var fitted *model.Model // with learned dynamics
	opt.Fitted = func(m *model.Model) {
		if m.Spec().Dynamics.Kind == model.DynamicsLearned {
			fitted = m
		}
	}
	results, err := Run(x.Final, opt)
	if err != nil {
		return nil, err
	}
	cold := rankCold(x, train.Incidence(x.Final).Degrees())
	for i := range results {
		results[i].Ranks = append(results[i].Ranks, cold...)
	}
	if fitted != nil {
		if results, err = x.runLive(fitted, results, opt.Done); err != nil {
			return nil, err
		}
	}
	for i := range results {
		r := &results[i]
		for c, n := range Cutoffs {
			r.Metrics[c] = metricByUser(n, r.Ranks, x.targets.users)
		}
	}
	return results, nil
}

// runLive appends the results of what a server does with a model beside its scores.
func (x *ByTime) runLive(
	m *model.Model, results []Result, done func(*Result),
) ([]Result, error) {
	live, err := train.FindLive(x.Final, m, nil)
	if err != nil {
		return nil, fault.In(Trending, err)
	}
	x.Fitted = &Aged{m, live.Trend, x.final.place}
	add := func(r Result) {
		if results = append(results, r); done != nil {
			done(&r)
		}
	}
	trending := x.runTrending(m, live.Trend)
	x.AllNext = x.runAgain(m, live.Again)
	if x.Arrivals, err = x.runArrivals(m, live.Trend); err != nil {
		return nil, err
	}
	add(trending)
	if x.Old != nil {
		for _, r := range x.runOld() {
			add(r)
		}
	}
	return results, nil
}

// rankCold ranks the cold targets by numbers of users.
func rankCold[T cmp.Ordered](x *ByTime, degrees []T) (ranks []int32) {
	for _, target := range x.targets.cold {
		ranks = append(ranks, rank(degrees, target, x.Final.Test.Hidden))
	}
	return ranks
}

// metricByUser is [MetricAt] with the standard error of targets that are independent only if their
// users differ.
func metricByUser(n int, ranks, users []int32) Metric {
	m := MetricAt(n, ranks)
	place := make(map[int32]int, len(users))
	var hits, gained []float64 // deviations of each user
	for t, u := range users {
		at, ok := place[u]
		if !ok {
			at = len(hits)
			place[u], hits, gained = at, append(hits, 0), append(gained, 0)
		}
		hit, gain := gains(n, ranks[t])
		hits[at] += hit - m.HR
		gained[at] += gain - m.NDCG
	}
	m.HRErr, m.NDCGErr = stat.ClusterErr(hits, len(ranks)),
		stat.ClusterErr(gained, len(ranks))
	return m
}

// changeByUser returns by which part of itself the NDCG@n changes, and the standard error of that
// ratio, likewise. It is not ok if there is nothing to change.
func changeByUser(n int, before, after, users []int32) (change, stderr float64, ok bool) {
	var sum, plain float64
	type pair struct{ gained, plain float64 }
	byUser := map[int32]pair{}
	for t, u := range users {
		_, was := gains(n, before[t])
		_, is := gains(n, after[t])
		sum, plain = sum+is-was, plain+was
		p := byUser[u]
		byUser[u] = pair{p.gained + is - was, p.plain + was}
	}
	if plain == 0 {
		return 0, 0, false
	}
	change = sum / plain
	var deviations []float64
	for _, p := range byUser {
		deviations = append(deviations, p.gained-change*p.plain)
	}
	slices.Sort(deviations) // for the same sum each time
	return change, stat.ClusterErr(deviations, len(users)) / (plain / float64(len(users))), true
}
