package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A promise is a row of the table: "| 7 | text | world | tests |".
type promise struct {
	number int
	text   string
	tests  []string
}

var testName = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)`")

// parse returns the promises of a document in its order. Each has a test, and they are numbered
// 1, 2, 3, …
func parse(doc string) ([]promise, error) {
	var promises []promise
	for line := range strings.Lines(doc) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		var p promise
		if _, err := fmt.Sscanf(strings.TrimSpace(cells[0]), "%d", &p.number); err != nil {
			continue
		}
		if len(cells) != 4 {
			return nil, fmt.Errorf("the row of promise %d has %d cells, want 4", p.number,
				len(cells))
		}
		if want := len(promises) + 1; p.number != want {
			return nil, fmt.Errorf("promise %d comes where %d is due", p.number, want)
		}
		p.text = strings.TrimSpace(cells[1])
		for _, m := range testName.FindAllStringSubmatch(cells[3], -1) {
			p.tests = append(p.tests, m[1])
		}
		if len(p.tests) == 0 {
			return nil, fmt.Errorf("promise %d names no test", p.number)
		}
		promises = append(promises, p)
	}
	if len(promises) == 0 {
		return nil, errors.New("no row begins with a number")
	}
	return promises, nil
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
