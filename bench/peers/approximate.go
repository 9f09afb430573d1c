package main

import (
	"fmt"
	"slices"

	"github.com/gsimc/gsimc/bench/internal/python"
	"github.com/gsimc/gsimc/bench/internal/result"
)

// index is an approximate peer. The candidates that a search keeps on its way, its effort, buy
// recall: the share of the exact first N that it finds.
type index struct {
	name    string // within the process
	effort  string // what the library calls it
	graph   bool   // of near rows, which takes minutes to build
	recalls []float64

	// parts are the shares of its rows that a search can be bound to: a half, a quarter and so on.
	parts []int

	// title names it with its version; it is empty if the process lacks the package.
	title func(w *python.Worker) string
}

// leastRecall is the recall that all of them are tuned to. One that does not reach it takes part as
// it comes nearest.
const leastRecall = 0.99

// mostEffort is the largest effort that is tried.
const mostEffort = 10_000

// indexes have settings that their authors recommend or give by default; approximate.py has them.
var indexes = []index{
	{name: "hnsw", effort: "efSearch", graph: true, recalls: []float64{0.90, leastRecall, 0.999},
		parts: []int{1}, title: func(w *python.Worker) string { return faissTitle(w, "HNSW") }},
	{name: "pq4", effort: "candidates", recalls: []float64{leastRecall}, parts: []int{1},
		title: func(w *python.Worker) string { return faissTitle(w, "PQ4 fast scan, refined") }},
	{name: "hnswlib", effort: "ef", graph: true, recalls: []float64{leastRecall}, parts: []int{1},
		title: func(w *python.Worker) string { return versioned("hnswlib", w.Versions.HNSWLib) }},
	{name: "usearch", effort: "expansion_search", graph: true, recalls: []float64{leastRecall},
		parts: []int{1},
		title: func(w *python.Worker) string { return versioned("usearch", w.Versions.USearch) }},
	{name: "scann", effort: "candidates", recalls: []float64{leastRecall},
		parts: []int{1, 2, 4, 8, 16},
		title: func(w *python.Worker) string { return versioned("ScaNN", w.Versions.ScaNN) }},
}

// versioned is empty without a version.
func versioned(name, version string) string {
	if version == "" {
		return ""
	}
	return name + " " + version
}

// indexesOf lists the approximate engines of a process for a base, but those in taken: one of each
// has to do. Graphs take part where rows are trained.
func indexesOf(w *python.Worker, b *base, taken []engine) []engine {
	var list []engine
	for i := range indexes {
		x := &indexes[i]
		title := x.title(w)
		if title == "" || x.graph && !b.trained || x.name == "pq4" && b.k%2 != 0 ||
			slices.ContainsFunc(taken, func(e engine) bool { return e.index == x }) {
			continue
		}
		list = append(list, engine{worker: w, name: x.name, title: title, index: x,
			role: result.Approximate})
	}
	return list
}

// tune replaces each approximate engine by several: one for each of its recalls, with the setting
// that reaches it, for lists of 10 and of 100. The checks name the settings.
func (s *session) tune(b *base, engines []engine) (tuned []engine, checks []result.Check, _ error) {
	for _, e := range engines {
		if e.index == nil {
			tuned = append(tuned, e)
			continue
		}
		for _, top := range []int{100, 10} {
			s.say("%s: searching the %s of %s, top %d", b.title, e.index.effort, e.title, top)
			list, reached, err := e.tuned(b, top)
			if err != nil {
				return nil, nil, err
			}
			tuned, checks = append(tuned, list...), append(checks, reached...)
		}
	}
	return tuned, checks, nil
}

// tuned returns one engine for each recall of e, with the setting that reaches it, for lists of
// top. Recalls rise.
func (e engine) tuned(b *base, top int) (tuned []engine, checks []result.Check, _ error) {
	effort := top
	for _, wanted := range e.index.recalls {
		best, err := e.least(b, top, effort, wanted)
		if err != nil {
			return nil, nil, err
		}
		checks = append(checks, best.reached(b, wanted))
		if best.recall >= wanted || wanted == leastRecall {
			tuned = append(tuned, best)
		}
		effort = best.effort
	}
	return tuned, checks, nil
}

// mostEffort is the largest effort that is tried on a base. A graph of which more has to be walked
// is slower than going through all rows.
func (x *index) mostEffort(b *base) int {
	if x.graph {
		return min(mostEffort, b.n/8)
	}
	return min(mostEffort, b.n)
}

// reached says by which setting a recall of the timed queries was reached, or how near it came.
func (e engine) reached(b *base, wanted float64) result.Check {
	text := fmt.Sprintf("%.2f %% of the top %d of %d queries by %s = %d", 100*e.recall, e.top,
		b.timed(), e.index.effort, e.effort)
	if e.part > 1 {
		text += fmt.Sprintf(", 1/%d of the leaves", e.part)
	}
	if e.recall < wanted {
		text += ": not reached"
	}
	return result.Check{Name: "items in common with " + e.title, Value: e.recall, Text: text}
}

// least returns e with the setting that reaches the recall of the first top items of the timed
// queries in the least time, or that comes nearest to it. The efforts tried begin with first.
func (e engine) least(b *base, top, first int, wanted float64) (engine, error) {
	e.title = fmt.Sprintf("%s, recall %.3f", e.title, wanted)
	e.top = top
	var best engine
	fastest := 0.0
	for _, part := range e.index.parts {
		one := e
		one.part = part
		var err error
		one.effort, one.recall, err = leastEffort(first, e.index.mostEffort(b), wanted,
			func(effort int) (float64, error) {
				one.effort = effort
				share, _, err := one.common(b, top, b.timed())
				return share, err
			})
		if err != nil {
			return engine{}, err
		}
		if one.recall < wanted {
			if one.recall > best.recall || best.index == nil {
				best = one
			}
			continue
		}
		seconds, err := one.seconds(top, 1, 0, tuningTime)
		if err != nil {
			return engine{}, err
		}
		if fastest == 0 || seconds < fastest {
			best, fastest = one, seconds
		}
	}
	return best, nil
}

// tuningTime is for how many seconds a part is tried that reaches the recall.
const tuningTime = 0.1

// leastEffort searches the least effort from first to most by which recall is what is wanted: it
// doubles it, then halves the last step three times. If none is enough it returns the largest.
func leastEffort(
	first, most int, wanted float64, recall func(effort int) (float64, error),
) (effort int, reached float64, err error) {
	below := first
	for effort = first; ; effort = min(2*effort, most) {
		if reached, err = recall(effort); err != nil || reached >= wanted || effort >= most {
			break
		}
		below = effort
	}
	if err != nil || reached < wanted {
		return effort, reached, err
	}
	for range 3 {
		middle := (below + effort) / 2
		if middle <= below {
			break
		}
		share, err := recall(middle)
		if err != nil {
			return 0, 0, err
		}
		if share >= wanted {
			effort, reached = middle, share
		} else {
			below = middle
		}
	}
	return effort, reached, nil
}
