package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A promise is a row of the table, "| 7 | text | world |", with the names of its tests.
type promise struct {
	number int
	text   string
	tests  []string
}

var testName = regexp.MustCompile(`^(?:Test|Fuzz)[A-Z]\w*$`)

// parse returns the promises of a document in its order, each with its tests of list. They are
// numbered 1, 2, 3, … in both, and each has a test.
func parse(doc, list string) ([]promise, error) {
	promises, err := parseTable(doc)
	if err != nil {
		return nil, err
	}
	tests, err := parseTests(list)
	if err != nil {
		return nil, err
	}
	if len(tests) != len(promises) {
		return nil, fmt.Errorf("there are %d promises, and tests of %d", len(promises), len(tests))
	}
	for i := range promises {
		promises[i].tests = tests[i]
	}
	return promises, nil
}

// parseTable returns the promises of the table of a document, without their tests.
func parseTable(doc string) ([]promise, error) {
	var promises []promise
	for line := range strings.Lines(doc) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		var p promise
		if _, err := fmt.Sscanf(strings.TrimSpace(cells[0]), "%d", &p.number); err != nil {
			continue
		}
		if len(cells) != 3 {
			return nil, fmt.Errorf("the row of promise %d has %d cells, want 3", p.number,
				len(cells))
		}
		if want := len(promises) + 1; p.number != want {
			return nil, fmt.Errorf("promise %d comes where %d is due", p.number, want)
		}
		p.text = strings.TrimSpace(cells[1])
		promises = append(promises, p)
	}
	if len(promises) == 0 {
		return nil, errors.New("no row begins with a number")
	}
	return promises, nil
}

// parseTests returns the names of the tests of promise 1, 2, 3, …
func parseTests(list string) ([][]string, error) {
	var tests [][]string
	for line := range strings.Lines(list) {
		words := strings.Fields(line)
		if len(words) == 0 || line[0] == '#' {
			continue
		}
		if line[0] != ' ' {
			if want := fmt.Sprint(len(tests) + 1); words[0] != want {
				return nil, fmt.Errorf("tests of %s come where those of promise %s are due",
					words[0], want)
			}
			tests, words = append(tests, nil), words[1:]
		}
		for _, name := range words {
			if len(tests) == 0 || !testName.MatchString(name) {
				return nil, fmt.Errorf("%q is not the test of a promise", name)
			}
			last := &tests[len(tests)-1]
			*last = append(*last, name)
		}
	}
	for i, names := range tests {
		if len(names) == 0 {
			return nil, fmt.Errorf("promise %d has no test", i+1)
		}
	}
	return tests, nil
}

// pattern is a regular expression of the tests of all promises.
func pattern(promises []promise) string {
	var names []string
	for _, p := range promises {
		names = append(names, p.tests...)
	}
	slices.Sort(names)
	return "^(" + strings.Join(slices.Compact(names), "|") + ")$"
}
