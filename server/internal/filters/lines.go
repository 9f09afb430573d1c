package filters

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gsimc/gsimc/internal/file/yamltext"
	"github.com/gsimc/gsimc/server/internal/valid"
)

// faults are what is wrong with a text.
type faults []faultAt

// faultAt is one thing that is wrong. Lines count from 1; 0: the fault is of no line.
type faultAt struct {
	line        int
	place, text string // the place is such as summer.ranges[1].gt; empty: it is not known
}

// shownFaults bounds those in the text of an error.
const shownFaults = 5

// Error names the first faults and the number of further ones.
func (f faults) Error() string {
	var texts []string
	for _, one := range f[:min(len(f), shownFaults)] {
		texts = append(texts, one.String())
	}
	if more := len(f) - shownFaults; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// String is such as "line 4, summer.weight: want a number".
func (f faultAt) String() string {
	at := f.place
	if f.line > 0 {
		at = strings.TrimSuffix(fmt.Sprintf("line %d, %s", f.line, f.place), ", ")
	}
	if at == "" {
		return f.text
	}
	return at + ": " + f.text
}

// notYAML is the fault of a text that the library cannot read as a node, by its error.
func notYAML(text []byte, err error) faults {
	line, problem := yamltext.Fault(text, err)
	return faults{{line: line, text: "not YAML: " + problem}}
}

// step is one of the steps of a field such as ranges[1].gt: a name, or the number of an element.
var step = regexp.MustCompile(`[^.[\]]+`)

// lineOf is the line of a field of an entry, or of what is there of its path; 0: there is nothing.
func lineOf(document *yaml.Node, name, field string) (line int) {
	steps := append([]string{name}, step.FindAllString(field, -1)...)
	n := document.Content[0]
	for _, s := range steps {
		if n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		at := len(n.Content)
		if i, err := strconv.Atoi(s); n.Kind == yaml.SequenceNode && err == nil {
			at = min(i, max(0, at-1))
		} else if n.Kind == yaml.MappingNode {
			at = keyOf(n, s)
		}
		if at == len(n.Content) {
			return line
		}
		line = n.Content[at].Line
		if n.Kind == yaml.MappingNode {
			at++ // to the value
		}
		n = n.Content[at]
	}
	return line
}

// keyOf is the place of a key in a mapping, which has keys and values in turns, or the place behind
// the end if the key is not there.
func keyOf(n *yaml.Node, name string) (at int) {
	for at < len(n.Content) && n.Content[at].Value != name {
		at += 2
	}
	return at
}

// entryFault is the fault err of an entry, whose fields are those of the file.
func entryFault(document *yaml.Node, name string, err error) faults {
	field := ""
	if invalid, ok := errors.AsType[*valid.Error](err); ok {
		field = invalid.Faults[0].Field
	}
	return faults{{lineOf(document, name, field), name, err.Error()}}
}

// spread is a copy of a node, each part of which gets a line of its own.
func spread(n *yaml.Node) *yaml.Node {
	c := *n
	c.Style &^= yaml.FlowStyle
	c.HeadComment, c.LineComment, c.FootComment = "", "", ""
	c.Content = nil
	for _, part := range n.Content {
		c.Content = append(c.Content, spread(part))
	}
	return &c
}

// moveLines gives faults of a text of spread the lines of the text from which its node was read.
func moveLines(f faults, text []byte, read *yaml.Node) {
	var document yaml.Node
	if yaml.Unmarshal(text, &document) != nil {
		return
	}
	lines := map[int]int{}
	var walk func(n, from *yaml.Node)
	walk = func(n, from *yaml.Node) {
		if _, has := lines[n.Line]; !has {
			lines[n.Line] = from.Line
		}
		for i := range min(len(n.Content), len(from.Content)) {
			walk(n.Content[i], from.Content[i])
		}
	}
	pair := document.Content[0].Content // a name and the entry
	lines[pair[0].Line] = read.Line
	walk(pair[1], read)
	for i := range f {
		f[i].line = lines[f[i].line]
	}
}
