package python

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/bench/internal/npy"
	"github.com/gsimc/gsimc/internal/test/check"
)

// start runs the first interpreter that has NumPy, or skips the test.
func start(t *testing.T) *Worker {
	t.Helper()
	for _, name := range Interpreters("") {
		if w, err := Start(context.Background(), name); err == nil {
			t.Cleanup(func() {
				check.Pass(t, w.Close(), "Close")
			})
			return w
		}
	}
	t.Skip("no Python with NumPy")
	return nil
}

func TestSearch(t *testing.T) {
	w, dir := start(t), t.TempDir()
	rows, queries := filepath.Join(dir, "rows"), filepath.Join(dir, "queries")
	check.Must(t, npy.Write(rows, []float32{1, 0, 0, 1, 3, 3, 2, 0}, 4, 2))
	check.Must(t, npy.Write(queries, []float32{1, 0, 0, 1}, 2, 2))
	load := map[string]any{"rows": rows, "queries": queries, "engines": []string{"blas"}}
	check.Must(t, w.Call("search.load", load, nil))
	var found struct{ IDs [][]int }
	search := map[string]any{"engine": "blas", "top": 2, "count": 2}
	check.Must(t, w.Call("search.ids", search, &found))
	if len(found.IDs) != 2 || found.IDs[0][0] != 2 || found.IDs[0][1] != 3 ||
		found.IDs[1][0] != 2 ||
		found.IDs[1][1] != 1 {
		t.Errorf("top 2 are %v, want [[2 3] [2 1]]", found.IDs)
	}
	for _, batch := range []int{1, 2} {
		var timed struct{ Seconds float64 }
		err := w.Call("search.time",
			map[string]any{"engine": "blas", "top": 2, "batch": batch, "first": 0, "use": 0},
			&timed)
		if err != nil || timed.Seconds <= 0 {
			t.Errorf("batch %d: %v seconds, %v", batch, timed.Seconds, err)
		}
	}
}

// TestErrors: an operation that fails says why, and the process goes on.
func TestErrors(t *testing.T) {
	w := start(t)
	check.Says(t, w.Call("nothing", nil, nil), "KeyError", "an unknown operation")
	var v Versions
	if err := w.Call("versions", nil, &v); err != nil || v != w.Versions || v.NumPy == "" {
		t.Errorf("versions %+v after %+v, %v", v, w.Versions, err)
	}
}

// TestDeadProcess: a process that ends tells why by its last line.
func TestDeadProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "python3")
	script := "#!/bin/sh\necho first >&2\necho 'no module named numpy' >&2\nexit 1\n"
	check.Must(t, os.WriteFile(path, []byte(script), 0o700))
	if _, err := Start(t.Context(), path); err == nil ||
		!strings.Contains(err.Error(), "has ended: no module named numpy") {
		t.Errorf("error %v, want what the process wrote last", err)
	}
}

func TestMissingInterpreter(t *testing.T) {
	if _, err := Start(t.Context(), filepath.Join(t.TempDir(), "python9")); err == nil ||
		!strings.Contains(err.Error(), "python9") {
		t.Errorf("error %v, want one that names the program", err)
	}
	if got := Interpreters(" /a/python , /a/python,/b/python"); len(got) != 2 {
		t.Errorf("Interpreters names %v, want each once", got)
	}
}
