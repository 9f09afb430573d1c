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
		"a: 1\nb: [x\nc: 1\n":   "2: did not find expected ',' or ']'",
		"a: 1\n b: 2\n":         "2: mapping values are not allowed in this context",
		"a:\r\n\tb: 1\r\n":      "2: found character that cannot start any token",
		long + "a: 1\n b: 2\n":  "2002: mapping values are not allowed in this context",
		long + "a: \"x\nb: 1\n": "2001: found unexpected end of stream",
	} {
		err := yaml.Unmarshal([]byte(text), new(yaml.Node))
		line, problem := Fault([]byte(text), err)
		check.Same(t, want, fmt.Sprintf("%d: %s", line, problem), "%.50q: %v", text, err)
	}
}
