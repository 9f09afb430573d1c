package evaluate

import (
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/num/stat"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/trend"
)

// Names of the methods of [ByTime] with a model that is older than the point of time: a server
// whose model nobody renews.
const (
	Frozen         = Dynamics + "-frozen"
	FrozenTrending = Frozen + "-trend" // with trends until each target, by the constants of then
)

// Aged is a model with learned dynamics that [ByTime.Run] has fitted at a point of time.
type Aged struct {
	model *model.Model
	trend trend.Spec
	place []int32 // of the items of events among those of the model; −1 for none
}

// runOld ranks the targets by the model of Old. It has no place for those that it does not know.
func (x *ByTime) runOld() []Result {
	y, at := x.seenByOld()
	x.Unseen = x.Targets - len(at)
	result := func(name string, known []int32) Result {
		ranks := slices.Repeat([]int32{math.MaxInt32}, x.Targets)
		for t, r := range known {
			ranks[at[t]] = r
		}
		return newResult(name, ranks)
	}
	plain := make([]int32, y.Final.Test.Len())
	LearnedDynamics().rankBy(x.Old.model, &y.Final.Test, plain, nil)
	return []Result{
		result(Frozen, append(plain, rankCold(y, x.Old.model.Degrees())...)),
		result(FrozenTrending, y.rankTrending(x.Old.model, x.Old.trend)),
	}
}

// seenByOld returns the targets that the model of Old knows, with what it knows of their histories,
// and their places among those of x.
func (x *ByTime) seenByOld() (y *ByTime, at []int) {
	to := make([]int32, len(x.Final.Items)) // the place of an item of x in the model
	for i, place := range x.final.place {
		if place >= 0 {
			to[place] = x.Old.place[i]
		}
	}
	y = &ByTime{Final: &dataset.Partition{}, final: stream{x.final.events, x.Old.place}}
	known := dataset.Histories{Ptr: []int64{0}}
	var coldAt []int
	warm := &x.Final.Test
	for _, i := range warm.Hidden {
		if to[i] >= 0 {
			known.Hidden = append(known.Hidden, to[i])
		}
	}
	addCold := func(target int32, time int64, t int) {
		if target >= 0 {
			y.targets.cold = append(y.targets.cold, target)
			y.targets.coldTimes = append(y.targets.coldTimes, time)
			coldAt = append(coldAt, t)
		}
	}
	for u := range warm.Len() {
		seen, target := split(warm, u)
		if !slices.ContainsFunc(seen, func(i int32) bool { return to[i] >= 0 }) {
			addCold(to[target], timeOfTarget(warm, u), u)
			continue
		}
		if to[target] < 0 {
			continue
		}
		for j, i := range warm.Of(u) {
			if to[i] >= 0 {
				appendEvent(&known, to[i], warm.Times(u), warm.Weights(u), int64(j))
			}
		}
		endHistory(&known, int(warm.User[u]))
		at = append(at, u)
	}
	for c, target := range x.targets.cold {
		addCold(to[target], x.targets.coldTimes[c], warm.Len()+c)
	}
	y.Final.Test = known
	return y, append(at, coldAt...)
}

// Cut is what is kept of a [ByTime] and its results.
type Cut struct {
	Begin   int64
	Results []Result

	users []int32 // of the targets
	warm  int     // number of targets with a history, which come first
}

// Cut returns what [Pool] needs of x and its results.
func (x *ByTime) Cut(results []Result) Cut {
	return Cut{x.Begin, results, x.targets.users, x.Final.Test.Len()}
}

// result finds a method. A model is not yet frozen at the cut where it was fitted.
func (c *Cut) result(name string) *Result {
	young := map[string]string{Frozen: Dynamics, FrozenTrending: Trending}[name]
	for _, wanted := range []string{name, young} {
		for i := range c.Results {
			if c.Results[i].Name == wanted {
				return &c.Results[i]
			}
		}
	}
	return nil
}

// Pooled are the results of a method at several cuts.
type Pooled struct {
	Result          // of the targets of all cuts; those of a user at several cuts belong together
	ByCut  []Metric // HR@10 and NDCG@10
	Spread float64  // standard deviation between the NDCG@10 of the cuts

	Warm, Cold Metric // HR@10 and NDCG@10 of the targets with a history and without, if any
}

// Pool joins the results of cuts. The methods are those of the last one that the others have too.
func Pool(cuts []Cut) (all []Pooled) {
	for _, r := range cuts[len(cuts)-1].Results {
		if p, ok := pool(cuts, r.Name); ok {
			all = append(all, p)
		}
	}
	return all
}

func pool(cuts []Cut, name string) (p Pooled, ok bool) {
	var ndcg []float64
	var ranks, users [2][]int32 // of targets with a history and without
	for i := range cuts {
		c := &cuts[i]
		r := c.result(name)
		if r == nil {
			return p, false
		}
		p.ByCut, ndcg = append(p.ByCut, r.Metrics[0]), append(ndcg, r.Metrics[0].NDCG)
		for k, of := range [][2]int{{0, c.warm}, {c.warm, len(c.users)}} {
			ranks[k] = append(ranks[k], r.Ranks[of[0]:of[1]]...)
			users[k] = append(users[k], c.users[of[0]:of[1]]...)
		}
	}
	of := slices.Concat(users[0], users[1])
	p.Result = newResult(name, slices.Concat(ranks[0], ranks[1]))
	for k, n := range Cutoffs {
		p.Metrics[k] = metricByUser(n, p.Ranks, of)
	}
	_, stderr := stat.Mean(ndcg)
	p.Spread = stderr * math.Sqrt(float64(len(cuts)))
	p.Warm, p.Cold = metricByUser(10, ranks[0], users[0]), metricByUser(10, ranks[1], users[1])
	return p, true
}

// Change returns by which part of itself the NDCG@10 of a method changes if another one takes its
// place, on the targets of all cuts with a history, and the standard error of that ratio, by users.
// It is not ok without both methods.
func Change(cuts []Cut, from, to string) (change, stderr float64, ok bool) {
	var before, after, users []int32
	for i := range cuts {
		c := &cuts[i]
		was, is := c.result(from), c.result(to)
		if was == nil || is == nil {
			return 0, 0, false
		}
		before = append(before, was.Ranks[:c.warm]...)
		after = append(after, is.Ranks[:c.warm]...)
		users = append(users, c.users[:c.warm]...)
	}
	return changeByUser(10, before, after, users)
}
