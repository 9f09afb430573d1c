package filters

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

var (
	lineBegin  = regexp.MustCompile(`^line (\d+): `)
	unknownKey = regexp.MustCompile(`field (\S+) not found in type [^\s;]+`)
	wrongKind  = regexp.MustCompile("cannot unmarshal !!(\\w+)(?: `([^`]*)`)? into ([^\\s;]+)")
)

// found and wanted are words for the tags of YAML and for the types of Go.
var (
	found = map[string]string{"str": "text", "int": "a number", "float": "a number",
		"bool": "a truth value", "seq": "a list", "map": "names with values", "timestamp": "a time"}
	wanted = map[string]string{"string": "text", "[]string": "a list of texts",
		"float64":   "a number",
		"[]float64": "a list of numbers", "[]filters.bounds": "a list of ranges",
		"filters.bounds":                "a range such as {name: price, gte: 10}",
		"filters.near":                  "latitude, longitude and radius_km",
		"filters.curve":                 "number, shape, origin and scale",
		"filters.conditions":            "conditions such as {any_labels: [new]}",
		"map[string]filters.conditions": "names with conditions"}
)

// worded are the faults of an error of the library, without the types of Go. They name the entry
// and the field, as far as the lines of the document tell them.
func worded(text []byte, err error, document *yaml.Node) error {
	kinds, ok := errors.AsType[*yaml.TypeError](err)
	if !ok && document == nil {
		return notYAML(text, err)
	} else if !ok { // such as that of a merge with a number
		return faults{{text: err.Error()}}
	}
	all := make(faults, len(kinds.Errors)) // a bad file has one on each line
	for i := range min(len(all), shownFaults) {
		all[i] = wordedFault(kinds.Errors[i], document)
	}
	return all
}

// wordedFault is worded for one fault, such as "line 4: cannot unmarshal !!str `much` into
// float64".
func wordedFault(text string, document *yaml.Node) (f faultAt) {
	unknown := ""
	if m := unknownKey.FindStringSubmatch(text); m != nil {
		unknown = m[1]
		text = strings.Replace(text, m[0], "there is no "+unknown, 1)
	}
	if m := wrongKind.FindStringSubmatch(text); m != nil {
		got := found[m[1]]
		if m[2] != "" {
			got = fmt.Sprintf("%q", m[2])
		}
		text = strings.Replace(text, m[0], "want "+wanted[m[3]]+", not "+got, 1)
	}
	m := lineBegin.FindStringSubmatch(text)
	if m == nil {
		return faultAt{text: text}
	}
	line, _ := strconv.Atoi(m[1]) // digits
	at := place(document, line)
	if unknown != "" { // where it would stand
		at, _, _ = strings.Cut(at, "."+unknown)
	}
	return faultAt{line, at, text[len(m[0]):]}
}

// place names what stands on a line, such as summer.ranges[1].gt, as far as it is one thing.
func place(n *yaml.Node, line int) string {
	if n == nil || len(n.Content) == 0 {
		return ""
	}
	step := 1
	switch n.Kind {
	case yaml.DocumentNode:
		return place(n.Content[0], line)
	case yaml.MappingNode:
		step = 2 // a key and a value
	case yaml.SequenceNode:
	default:
		return ""
	}
	at := -1
	for i := 0; i < len(n.Content) && n.Content[i].Line <= line; i += step {
		if at >= 0 && n.Content[i].Line == n.Content[at].Line && n.Content[i].Line == line {
			return "" // one of several on the line
		}
		at = i
	}
	if at < 0 {
		return ""
	}
	name, rest := fmt.Sprintf("[%d]", at), place(n.Content[at+step-1], line)
	if step == 2 {
		name = n.Content[at].Value
	}
	if rest == "" || strings.HasPrefix(rest, "[") {
		return name + rest
	}
	return name + "." + rest
}
