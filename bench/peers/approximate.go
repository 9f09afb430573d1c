package main

import (
	"fmt"

	"github.com/gsimc/gsimc/bench/internal/result"
)

// HNSW of faiss walks a graph of near rows instead of going through all. The candidates that it
// keeps on the way, efSearch, buy recall: the share of the exact first N that it finds. The graph
// has 32 links a row (M) and is built with the efConstruction that faiss has by default.

// hnswRecalls are the recalls at which HNSW is timed.
var hnswRecalls = []float64{0.90, 0.99, 0.999}

// hnswEffort is the largest efSearch that is tried.
const hnswEffort = 10_000

// tune puts HNSW as it reaches each of the recalls in the place of HNSW, for lists of 10 and of
// 100. A recall that it does not reach has no contestant: the checks say how far it comes.
func (s *session) tune(b *base, engines []engine) (tuned []engine, checks []result.Check, _ error) {
	for _, e := range engines {
		if e.name != "hnsw" {
			tuned = append(tuned, e)
			continue
		}
		for _, top := range []int{100, 10} {
			s.say("%s: searching the efSearch of HNSW, top %d", b.title, top)
			found, reached, err := e.tuned(b, top)
			if err != nil {
				return nil, nil, err
			}
			tuned, checks = append(tuned, found...), append(checks, reached...)
		}
	}
	return tuned, checks, nil
}

// tuned returns e with the efforts that reach the recalls of the first top items of the timed
// queries.
func (e engine) tuned(b *base, top int) (tuned []engine, checks []result.Check, _ error) {
	count := min(timedQueries, len(b.queries)/b.k)
	effort := top
	for _, wanted := range hnswRecalls {
		var recall float64
		var err error
		effort, recall, err = leastEffort(effort, min(hnswEffort, b.n), wanted,
			func(effort int) (float64, error) {
				e.effort = effort
				share, _, err := e.common(b, top, count)
				return share, err
			})
		if err != nil {
			return nil, nil, err
		}
		one := e
		one.top, one.effort = top, effort
		one.title = fmt.Sprintf("%s, recall %.3f", e.title, wanted)
		text := fmt.Sprintf("%.2f %% of the top %d of %d queries by efSearch = %d", 100*recall, top,
			count, effort)
		if recall >= wanted {
			tuned = append(tuned, one)
		} else {
			text += ": not reached"
		}
		checks = append(checks,
			result.Check{Name: "items in common with " + one.title, Value: recall, Text: text})
	}
	return tuned, checks, nil
}

// leastEffort searches the least effort from first to most by which recall is what is wanted: it
// doubles it, then halves the last step three times. It returns most if none is enough.
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
