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

	index *index // nil if it has nothing to tune

	// As it is tuned for lists of top, and what it finds then; 0 otherwise.
	top, effort, part int
	recall            float64
}

// load hands the base to the Python processes.
func (s *session) load(b *base, workers []*python.Worker) ([]engine, error) {
	if len(workers) == 0 {
		return nil, nil
	}
	rows, queries := s.path("rows.npy"), s.path("queries.npy")
	timed := b.timed()
	err := errors.Join(npy.Write(rows, b.rows, b.n, b.k),
		npy.Write(queries, b.queries[:timed*b.k], timed, b.k))
	if err != nil {
		return nil, err
	}
	var engines []engine
	for _, w := range workers {
		own := slices.Concat(exactOf(w), indexesOf(w, b, engines))
		var names []string
		for _, e := range own {
			names = append(names, e.name)
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

// exactOf lists what a process can search all rows with.
func exactOf(w *python.Worker) []engine {
	list := []engine{{
		worker: w, name: "blas", role: result.Peer,
		title: fmt.Sprintf("NumPy %s, OpenBLAS and argpartition", w.Versions.NumPy),
	}}
	if w.Versions.Faiss == "" {
		return list
	}
	return append(list,
		engine{worker: w, name: "flat", title: faissTitle(w, "IndexFlatIP"), role: result.Peer},
		engine{worker: w, name: "sq8", title: faissTitle(w, "SQ8 (not exact)"),
			role: result.Approximate})
}

// faissTitle names an index with the version and the instructions of its faiss, if there is one.
func faissTitle(w *python.Worker, index string) string {
	if w.Versions.Faiss == "" {
		return ""
	}
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
		run := func() (float64, error) {
			round++
			seconds, err := e.seconds(top, batch, 31*round, s.use().Seconds())
			return seconds * 1e3, err
		}
		list = append(list,
			rounds.Contestant{Name: e.title, Role: e.role, Recall: e.recall, Run: run})
	}
	return list
}

// seconds is the processor time of a query among batch at once, over calls for as many seconds as
// use says. They begin with the query first.
func (e engine) seconds(top, batch, first int, use float64) (float64, error) {
	var reply struct{ Seconds float64 }
	args := e.request(top)
	args["batch"], args["first"], args["use"] = batch, first, use
	err := e.worker.Call("search.time", args, &reply)
	return reply.Seconds / float64(batch), err
}

// request has what all requests to search have.
func (e engine) request(top int) map[string]any {
	return map[string]any{"engine": e.name, "effort": e.effort, "part": e.part, "top": top}
}

// overlap compares the first 100 items of the engines with our own: exact ones differ only where
// scores are equal to the last digits, since they add in another order.
func overlap(b *base, engines []engine) ([]result.Check, error) {
	const top, count = 100, 64
	var checks []result.Check
	for _, e := range engines {
		if e.index != nil {
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
	search := e.request(top)
	search["count"] = count
	if err := e.worker.Call("search.ids", search, &reply); err != nil {
		return 0, 0, err
	}
	found, total := 0, 0
	wanted := b.firsts(top)
	for i, ids := range reply.IDs {
		for _, item := range wanted[i] {
			total++
			if slices.Contains(ids, item) {
				found++
			}
		}
	}
	return float64(found) / float64(max(total, 1)), len(reply.IDs), nil
}
