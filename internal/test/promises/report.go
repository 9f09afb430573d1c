package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/gsimc/gsimc/internal/test/soak"
)

// A result is the outcome of all tests of a name, over all packages.
type result struct {
	passed, skipped, failed int
	injected                map[string]int // kind of fault -> how many
}

// Results are the results by the name of the test, and the failures that belong to no test.
type results struct {
	tests  map[string]*result
	failed []string // packages
	// ran says of each test with parts, by package and name, whether one of them was executed.
	ran map[[2]string]bool
}

// An event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
}

// read reads the events of go test -json, and passes on to out what people would look for: lines
// that are no events, the outcome of each package, and the whole output of tests that failed, or
// were running when their package did.
func read(in io.Reader, out io.Writer) (*results, error) {
	res := &results{tests: map[string]*result{}, ran: map[[2]string]bool{}}
	output := map[[2]string][]string{}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil {
				fmt.Fprint(out, line)
			} else {
				res.add(e, output, out)
			}
		}
		if err == io.EOF {
			return res, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// add counts one event. Output is what the running tests and packages have written.
func (r *results) add(e event, output map[[2]string][]string, out io.Writer) {
	key := [2]string{e.Package, e.Test}
	name, _, _ := strings.Cut(e.Test, "/")
	switch e.Action {
	case "output", "build-output":
		r.listen(e, name)
		if e.Action == "build-output" || e.Test == "" && !noise(e.Output) {
			fmt.Fprint(out, e.Output)
		} else if e.Test != "" {
			output[key] = append(output[key], e.Output)
		}
		return
	case "pass", "skip", "fail":
	default:
		return
	}
	if e.Action == "fail" {
		fmt.Fprint(out, strings.Join(output[key], ""))
	}
	delete(output, key)
	if e.Test == "" && e.Action == "fail" {
		r.failed = append(r.failed, e.Package)
		for running, lines := range output { // as when the process was ended, with its stacks
			if running[0] == e.Package {
				fmt.Fprint(out, strings.Join(lines, ""))
			}
		}
	}
	whole := [2]string{e.Package, name}
	switch executed, parts := r.ran[whole]; {
	case e.Test != name:
		r.ran[whole] = executed || e.Action != "skip"
	case name != "" && e.Action == "pass" && parts && !executed:
		r.of(name).count("skip") // of all its parts
	case name != "":
		r.of(name).count(e.Action)
	}
}

// listen adds up what tests and their parts say that they injected.
func (r *results) listen(e event, name string) {
	if n, kind, ok := soak.ParseInjected(e.Output); ok && name != "" {
		r.of(name).injected[kind] += n
	}
}

// noise is what a package says besides its outcome, and the outcome of one without a test to run.
func noise(line string) bool {
	return line == "PASS\n" || line == "FAIL\n" || strings.Contains(line, "no tests to run")
}

func (r *results) of(name string) *result {
	if r.tests[name] == nil {
		r.tests[name] = &result{injected: map[string]int{}}
	}
	return r.tests[name]
}

func (t *result) count(action string) {
	switch action {
	case "pass":
		t.passed++
	case "skip":
		t.skipped++
	case "fail":
		t.failed++
	}
}

// report prints a line for each promise, its tests that were executed and what they injected. The
// error says which packages failed and which promises have a test that did not run.
func report(out io.Writer, promises []promise, r *results) error {
	fmt.Fprintf(out, "\n%4s  %-8s %7s  %s\n", "", "outcome", "tests",
		"promise; tests executed; faults injected")
	var open []int
	for _, p := range promises {
		outcome, executed := r.outcome(p)
		if outcome == "not run" {
			open = append(open, p.number)
		}
		fmt.Fprintf(out, "%4d  %-8s %2d of %d  %s\n", p.number, outcome, len(executed),
			len(p.tests), p.text)
		for _, more := range []string{strings.Join(executed, ", "), r.injected(executed)} {
			if more != "" {
				fmt.Fprintf(out, "%24s %s\n", "", more)
			}
		}
	}
	if len(r.failed) > 0 {
		return fmt.Errorf("failed: %s", strings.Join(r.failed, ", "))
	}
	if len(open) > 0 {
		return fmt.Errorf("tests of these promises did not run: %d", open)
	}
	return nil
}

// outcome returns the worst outcome of the tests of a promise, and which of them were executed. A
// skipped test counts only where no other was executed: -short and a missing database skip some.
func (r *results) outcome(p promise) (outcome string, executed []string) {
	outcome = "skipped"
	for _, name := range p.tests {
		if t := r.tests[name]; t != nil && t.passed+t.failed > 0 {
			executed = append(executed, name)
		}
	}
	if len(executed) > 0 {
		outcome = "pass"
	}
	for _, name := range p.tests {
		switch t := r.tests[name]; {
		case t == nil:
			outcome = worst(outcome, "not run")
		case t.failed > 0:
			outcome = worst(outcome, "FAIL")
		}
	}
	return outcome, executed
}

// injected adds up the faults of tests.
func (r *results) injected(tests []string) string {
	sum := map[string]int{}
	for _, name := range tests {
		for kind, n := range r.tests[name].injected {
			sum[kind] += n
		}
	}
	kinds := slices.SortedFunc(maps.Keys(sum), func(a, b string) int {
		return cmp.Or(cmp.Compare(sum[b], sum[a]), cmp.Compare(a, b))
	})
	parts := make([]string, len(kinds))
	for i, kind := range kinds {
		parts[i] = fmt.Sprintf("%d %s", sum[kind], kind)
	}
	return strings.Join(parts, ", ")
}

func worst(a, b string) string {
	order := []string{"pass", "skipped", "not run", "FAIL"}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}
