package evaluate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gsimc/gsimc/internal/num/stat"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/learn/dataset"
)

// Cutoffs are the list lengths N of HR@N and NDCG@N.
var Cutoffs = []int{10, 50, 100}

// rank returns the place, from 1, of the target among all items that are not in the history.
func rank[T cmp.Ordered](scores []T, target int32, history []int32) int32 {
	return int32(ranking.Of(scores, target, ranking.SetOf(len(scores), history...)))
}

// rankLast returns the place of the last item of the u-th user of h among all items that the items
// before it do not have and that are not hidden.
func rankLast[T cmp.Ordered](scores []T, h *dataset.Histories, u int) int32 {
	seen, target := split(h, u)
	return rank(scores, target, slices.Concat(seen, h.Hidden))
}

// Metric is HR@N and NDCG@N with their standard errors.
type Metric struct {
	N              int
	HR, NDCG       float64
	HRErr, NDCGErr float64
}

// Result holds the figures that one method reached.
type Result struct {
	Name    string  // of the method
	Ranks   []int32 // of the target, one for each test user, from 1
	Metrics []Metric

	// Chosen holds the constants that the method chose on the validation users, by name ("lambda",
	// "alpha"); nil if it chooses none. Variant is the variant that it chose likewise, such as a
	// filter.
	Chosen  map[string]float64
	Variant string

	// Calibration is that of a model that knows its variance; nil for others.
	Calibration *Calibration
}

func newResult(name string, ranks []int32) Result {
	res := Result{Name: name, Ranks: ranks}
	for _, n := range Cutoffs {
		res.Metrics = append(res.Metrics, MetricAt(n, ranks))
	}
	return res
}

// Figures returns the metrics under the names of the JSON output: "hr@10", "ndcg@10" and, for their
// standard errors, "hr@10 stderr", "ndcg@10 stderr"; and the constants of Chosen.
func (r *Result) Figures() map[string]float64 {
	f := make(map[string]float64)
	maps.Copy(f, r.Chosen)
	for _, m := range r.Metrics {
		for name, v := range map[string]float64{"hr": m.HR, "ndcg": m.NDCG} {
			f[fmt.Sprintf("%s@%d", name, m.N)] = v
		}
		f[fmt.Sprintf("hr@%d stderr", m.N)] = m.HRErr
		f[fmt.Sprintf("ndcg@%d stderr", m.N)] = m.NDCGErr
	}
	return f
}

// MetricAt averages over targets at these ranks, from 1. The standard error is that of a mean of
// independent values: the sample's standard deviation over √users.
func MetricAt(n int, ranks []int32) Metric {
	m := Metric{N: n}
	users := float64(len(ranks))
	var squares float64 // of the gains; those of the hits are the hits
	for _, r := range ranks {
		hit, gain := gains(n, r)
		m.HR += hit
		m.NDCG += gain
		squares += float64(gain * gain)
	}
	if users == 0 {
		return m
	}
	m.HR /= users
	m.NDCG /= users
	m.HRErr = stat.StdErr(m.HR, m.HR, users)
	m.NDCGErr = stat.StdErr(m.NDCG, squares/users, users)
	return m
}

// gains returns what a target at a rank adds to HR@n and to NDCG@n, before the mean.
func gains(n int, rank int32) (hit, gain float64) {
	if int(rank) > n {
		return 0, 0
	}
	return 1, 1 / math.Log2(float64(rank)+1)
}
