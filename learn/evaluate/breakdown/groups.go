// Package breakdown splits what package evaluate measures by groups of test users: by the length of
// their histories, by the popularity of their targets; and shows their histories by frequency.
package breakdown

import (
	"cmp"
	"math"
	"slices"

	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/evaluate"
)

// Group is a set of test users whose values are from From to To, with the figures of each method.
type Group struct {
	From, To int
	Mean     float64 // of the users' values
	Users    int
	Metrics  []evaluate.Metric // at N, in the order of the results
}

// N is the length of the lists that groups are measured on.
const N = 10

// LeastUsers is the number of users below which a group is joined with the next one.
const LeastUsers = 40

// popularityGroups is the largest number of groups of [ByPopularity].
const popularityGroups = 10

// ByHistoryLength groups the test users of p by the number of events before their target. The
// bounds grow by √2. results are those of [evaluate.Run] on p.
func ByHistoryLength(p *dataset.Partition, results []evaluate.Result) []Group {
	lengths := make([]int, p.Test.Len())
	for u := range lengths {
		lengths[u] = len(p.Test.Of(u)) - 1
	}
	var bounds []int
	for i := 0; len(lengths) > 0 && (i == 0 || bounds[i-1] < slices.Max(lengths)); i++ {
		bounds = append(bounds, int(math.Round(math.Pow(2, float64(i)/2))))
	}
	return group(lengths, bounds, results)
}

// ByPopularity groups the test users of p by the number of training users of their target. Each
// group stands for a tenth of the training interactions: the items of the first one are the tail,
// and those of the last one the head. Items with equally many users are in the same group. results
// are those of [evaluate.Run] on p.
func ByPopularity(p *dataset.Partition, results []evaluate.Result) []Group {
	degrees := make([]int, len(p.Items))
	for _, i := range p.Train.Item {
		degrees[i]++
	}
	users := make([]int, p.Test.Len())
	for u := range users {
		items := p.Test.Of(u)
		users[u] = degrees[items[len(items)-1]]
	}
	return group(users, shares(degrees, popularityGroups), results)
}

// shares returns the first degree of each part if items are cut by degree into parts with about
// equally many interactions.
func shares(degrees []int, parts int) (bounds []int) {
	sorted := slices.Sorted(slices.Values(degrees))
	total := 0
	for _, d := range sorted {
		total += d
	}
	sum, at := 0, 0
	for last := -1; at < len(sorted); {
		d := sorted[at]
		if part := sum * parts / total; part > last {
			bounds, last = append(bounds, d), part
		}
		for ; at < len(sorted) && sorted[at] == d; at++ {
			sum += d
		}
	}
	return bounds
}

// group puts each user into the group of the last bound that is not above the user's value. Groups
// of few users are joined with the next one, the last with the one before.
func group(values, bounds []int, results []evaluate.Result) []Group {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	var cuts []int // ends of groups in order
	for _, bound := range bounds {
		at, _ := slices.BinarySearchFunc(order, bound, func(u, bound int) int {
			return cmp.Compare(values[u], bound)
		})
		if at >= LeastUsers && (len(cuts) == 0 || at-cuts[len(cuts)-1] >= LeastUsers) {
			cuts = append(cuts, at)
		}
	}
	if n := len(cuts); n > 0 && len(order)-cuts[n-1] < LeastUsers {
		cuts = cuts[:n-1]
	}
	cuts = append(cuts, len(order))
	var groups []Group
	begin := 0
	for _, end := range cuts {
		if begin < end {
			groups = append(groups, newGroup(order[begin:end], values, results))
		}
		begin = end
	}
	return groups
}

// newGroup measures a group of users, which are in the order of their values.
func newGroup(users, values []int, results []evaluate.Result) Group {
	g := Group{
		From: values[users[0]], To: values[users[len(users)-1]], Users: len(users),
		Metrics: make([]evaluate.Metric, len(results)),
	}
	for _, u := range users {
		g.Mean += float64(values[u])
	}
	g.Mean /= float64(len(users))
	ranks := make([]int32, len(users))
	for i := range results {
		for j, u := range users {
			ranks[j] = results[i].Ranks[u]
		}
		g.Metrics[i] = evaluate.MetricAt(N, ranks)
	}
	return g
}
