package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/gsimc/gsimc/bench/internal/npy"
	"github.com/gsimc/gsimc/bench/internal/python"
	"github.com/gsimc/gsimc/bench/internal/result"
	"github.com/gsimc/gsimc/bench/internal/rounds"
)

// engine is one way of a Python process to search.
type engine struct {
	worker *python.Worker
	name   string // within the process
	title  string
	role   result.Role

	// HNSW as it is tuned for lists of top; 0 otherwise.
	top, effort int
}

// load hands the base to the Python processes. HNSW takes part where rows are trained, by the first
// faiss alone: building its graph takes minutes.
func (s *session) load(b *base, workers []*python.Worker) ([]engine, error) {
	if len(workers) == 0 {
		return nil, nil
	}
	rows, queries := s.path("rows.npy"), s.path("queries.npy")
	timed := min(timedQueries, len(b.queries)/b.k)
	err := errors.Join(npy.Write(rows, b.rows, b.n, b.k),
		npy.Write(queries, b.queries[:timed*b.k], timed, b.k))
	if err != nil {
		return nil, err
	}
	var engines []engine
	graph := b.trained
	for _, w := range workers {
		own := enginesOf(w, graph)
		var names []string
		for _, e := range own {
			names = append(names, e.name)
			graph = graph && e.name != "hnsw"
		}
		s.say("%s: NumPy %s, faiss %s make %s", b.title, w.Versions.NumPy,
			orNone(w.Versions.Faiss), strings.Join(names, ", "))
		args := map[string]any{"rows": rows, "queries": queries, "engines": names}
		if err := w.Call("search.load", args, nil); err != nil {
			return nil, fmt.Errorf("%s: %w", w.Interpreter, err)
		}
		engines = append(engines, own...)
	}
	return engines, errors.Join(os.Remove(rows), os.Remove(queries))
}

// enginesOf lists what a process can search with.
func enginesOf(w *python.Worker, graph bool) []engine {
	list := []engine{{
		worker: w, name: "blas", role: result.Peer,
		title: fmt.Sprintf("NumPy %s, OpenBLAS and argpartition", w.Versions.NumPy),
	}}
	if w.Versions.Faiss == "" {
		return list
	}
	list = append(list,
		engine{worker: w, name: "flat", title: faissTitle(w, "IndexFlatIP"), role: result.Peer},
		engine{worker: w, name: "sq8", title: faissTitle(w, "SQ8 (not exact)"),
			role: result.Approximate})
	if graph {
		list = append(list, engine{worker: w, name: "hnsw", title: faissTitle(w, "HNSW"),
			role: result.Approximate})
	}
	return list
}

// faissTitle names an index with the version and the instructions of its faiss.
func faissTitle(w *python.Worker, index string) string {
	short := strings.NewReplacer(" (OPTIMIZE ", " (", "DD ", "")
	return "faiss " + short.Replace(w.Versions.Faiss) + " " + index
}

// takesPart reports whether the engine is measured at lists of top and at that batch. The quantised
// index is slow and its answers are not exact, so one group has to do.
func (e engine) takesPart(top, batch int) bool {
	if e.name == "sq8" {
		return top == 100 && batch == 1
	}
	return e.top == 0 || e.top == top
}

// peerSearches are the contestants of the Python processes.
func (s *session) peerSearches(engines []engine, top, batch int) []rounds.Contestant {
	var list []rounds.Contestant
	for _, e := range engines {
		if !e.takesPart(top, batch) {
			continue
		}
		round := 0
		list = append(
			list,
			rounds.Contestant{Name: e.title, Role: e.role, Run: func() (float64, error) {
				round++
				var reply struct{ Seconds float64 }
				args := map[string]any{
					"engine": e.name,
					"effort": e.effort,
					"top":    top,
					"batch":  batch,
					"first":  31 * round,
					"use":    s.use().Seconds(),
				}
				err := e.worker.Call("search.time", args, &reply)
				return reply.Seconds / float64(batch) * 1e3, err
			}},
		)
	}
	return list
}

// overlap compares the first 100 items of the engines with our own: exact ones differ only where
// scores are equal to the last digits, since they add in another order.
func overlap(b *base, engines []engine) ([]result.Check, error) {
	const top, count = 100, 64
	var checks []result.Check
	for _, e := range engines {
		if e.name == "hnsw" {
			continue // its recall is what it is tuned to
		}
		share, asked, err := e.common(b, top, count)
		if err != nil {
			return nil, err
		}
		checks = append(checks, result.Check{
			Name: "items in common with " + e.title, Value: share,
			Text: fmt.Sprintf("%.2f %% of the top %d of %d queries", 100*share, top, asked),
			Bad:  e.role == result.Peer && share < 0.999,
		})
	}
	return checks, nil
}

// common asks the first count queries, and returns which share of our first top items it finds and
// how many queries there were.
func (e engine) common(b *base, top, count int) (share float64, asked int, _ error) {
	var reply struct{ IDs [][]int32 }
	search := map[string]any{"engine": e.name, "effort": e.effort, "top": top, "count": count}
	if err := e.worker.Call("search.ids", search, &reply); err != nil {
		return 0, 0, err
	}
	found, total := 0, 0
	for i, ids := range reply.IDs {
		for _, want := range b.model.TopN(nil, b.spectral(b.queries, i), top, nil) {
			total++
			if slices.Contains(ids, want.Item) {
				found++
			}
		}
	}
	return float64(found) / float64(max(total, 1)), len(reply.IDs), nil
}
