// Package yamltext finds the line at which a text stops being YAML, or being one document.
package yamltext

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"sort"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// searched bounds the texts in which the line is searched: that takes the time of reading the text
// some 12 times.
const searched = 32 << 10

// said is how an error of the library begins.
var said = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// Fault returns the line of a text, from 1, at which the library cannot go on, and what is wrong
// there. err is its error for the text as a [yaml.Node]. The library counts some lines from 0, and
// names the line where a block begins in which another line is wrong. The right line is the one
// whose addition brings this very error. Of a long text the line is that of the library; 0: it has
// none.
func Fault(text []byte, err error) (line int, problem string) {
	problem = err.Error() // the library has no other form of it
	begin := said.FindStringSubmatch(problem)
	if begin == nil {
		return 0, problem
	}
	problem = problem[len(begin[0]):]
	if len(text) > searched {
		line, _ = strconv.Atoi(begin[1]) // digits, or nothing
		return line, problem
	}
	ends := []int{0}
	for line := range bytes.Lines(text) {
		ends = append(ends, ends[len(ends)-1]+len(line))
	}
	line = sort.Search(len(ends)-1, func(n int) bool {
		other := yaml.Unmarshal(text[:ends[n]], new(yaml.Node))
		return other != nil && other.Error() == err.Error()
	})
	return line, hinted(problem, text[ends[max(line-1, 0)]:ends[line]])
}

// hinted adds to a problem of the library what is likely to be wrong with its line.
func hinted(problem string, line []byte) string {
	indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
	switch {
	case bytes.Contains(indent, []byte("\t")):
		return "it is indented with a tab: use blanks"
	case problem == "did not find expected key",
		problem == "mapping values are not allowed in this context":
		return problem + " (is it indented like the lines beside it?)"
	}
	return problem
}

// Second returns the line of a text, from 1, at which its second document begins; 0: there is none.
func Second(text []byte) (line int) {
	var first, second yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	if d.Decode(&first) != nil {
		return 0
	}
	switch err := d.Decode(&second); {
	case errors.Is(err, io.EOF):
		return 0
	case err == nil:
		return second.Line
	}
	n := 0 // the library does not tell where a document begins that is bad
	for text := range bytes.Lines(text) {
		n++
		if n > first.Line && (bytes.HasPrefix(text, []byte("---")) ||
			bytes.HasPrefix(text, []byte("..."))) {
			break
		}
	}
	return n
}
