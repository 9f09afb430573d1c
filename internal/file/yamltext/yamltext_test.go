package yamltext

import (
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/gsimc/gsimc/internal/test/check"
)

func TestFault(t *testing.T) {
	long := strings.Repeat("# a comment of many words\n", 2000)
	for text, want := range map[string]string{
		"a: 1\nb: [x\nc: 1\n": "2: did not find expected ',' or ']'",
		"a: 1\n b: 2\n": "2: mapping values are not allowed in this context " +
			"(is it indented like the lines beside it?)",
		"a:\n  b: 1\n c: 2\n": "3: did not find expected key " +
			"(is it indented like the lines beside it?)",
		"a:\r\n\tb: 1\r\n":      "2: it is indented with a tab: use blanks",
		"a: 1\n \t b: 1\n":      "2: it is indented with a tab: use blanks",
		"a: @b\n":               "1: found character that cannot start any token",
		long + "a: 1\n b: 2\n":  "2002: mapping values are not allowed in this context",
		long + "a: \"x\nb: 1\n": "2001: found unexpected end of stream",
	} {
		err := yaml.Unmarshal([]byte(text), new(yaml.Node))
		line, problem := Fault([]byte(text), err)
		check.Same(t, want, fmt.Sprintf("%d: %s", line, problem), "%.50q: %v", text, err)
	}
}

func TestSecond(t *testing.T) {
	for text, want := range map[string]int{
		"":                         0,
		"# a comment\n":            0,
		"a: 1\n":                   0,
		"# x\n---\na: 1\n...\n":    0,
		"a: [\n---\nb: 1\n":        0, // the first one is bad
		"a: 1\n---\nb: 2\n":        2,
		"a: 1\n---\n":              2,
		"---\n---\na: 1\n":         2,
		"a: 1\r\n--- {b: 2}\r\n":   2,
		"---\na: 1\n\n---\nb: [\n": 4,
		"a: 1\nb: 2\n...\nc: 3\n":  3,
	} {
		check.Same(t, want, Second([]byte(text)), "the line of the second document of %q", text)
	}
}
