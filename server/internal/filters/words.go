package filters

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gsimc/gsimc/internal/near"
)

var (
	lineBegin  = regexp.MustCompile(`^line (\d+): `)
	unknownKey = regexp.MustCompile(`field (\S+) not found in type ([^\s;]+)`)
	doubleKey  = regexp.MustCompile(`mapping key (".*") already defined at line \d+`)
	wrongKind  = regexp.MustCompile("cannot unmarshal !!(\\w+)(?: `([^`]*)`)? into ([^\\s;]+)")
)

// found and wanted are words for the tags of YAML and for the types of Go.
var (
	found = map[string]string{"str": "text", "int": "a number", "float": "a number",
		"bool": "a truth value", "seq": "a list", "map": "names with values", "timestamp": "a time"}
	wanted = map[string]string{"string": "text", "[]string": "a list of texts",
		"float64":   "a number",
		"[]float64": "a list of numbers", "[]filters.bounds": "a list of ranges",
		"filters.bounds":     "a range such as {name: price, gte: 10}",
		"filters.circle":     "latitude, longitude and radius_km",
		"filters.curve":      "number, shape, origin and scale",
		"filters.conditions": "conditions such as {any_labels: [new]}",
		whole:                "a mapping of names to conditions"}
)

// whole is the type of Go of the file.
const whole = "map[string]filters.conditions"

// fields are the names in the file that the types of Go have.
var fields = map[string][]string{"filters.conditions": namesOf[conditions](),
	"filters.bounds": namesOf[bounds](), "filters.circle": namesOf[circle](),
	"filters.curve": namesOf[curve]()}

func namesOf[T any]() (all []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		all = append(all, f.Tag.Get("yaml"))
	}
	return all
}

// takers are the names of the fields that take a value of a type of Go, or a list of such values.
var takers = takersOf(reflect.TypeFor[conditions](), reflect.TypeFor[bounds](),
	reflect.TypeFor[circle](), reflect.TypeFor[curve]())

func takersOf(types ...reflect.Type) map[string][]string {
	all := map[string][]string{}
	for _, of := range types {
		for _, f := range reflect.VisibleFields(of) {
			name, takes := f.Tag.Get("yaml"), f.Type
			if takes.Kind() == reflect.Pointer {
				takes = takes.Elem()
			}
			all[takes.String()] = append(all[takes.String()], name)
			if takes.Kind() == reflect.Slice {
				element := takes.Elem().String()
				all[element] = append(all[element], name)
			}
		}
	}
	return all
}

// noField is what is wrong with the name of a field that a type has not.
func noField(name, of string) string {
	all := fields[of]
	if at := near.Index(name, all); at >= 0 {
		return fmt.Sprintf("there is no %s: did you mean %s?", name, all[at])
	}
	return fmt.Sprintf("there is no %s, want %s", name, strings.Join(all, ", "))
}

// worded are the faults of an error of the library, without the types of Go. They name the entry
// and the field, as far as the lines of the document tell them.
func worded(err error, document *yaml.Node) error {
	kinds, ok := errors.AsType[*yaml.TypeError](err)
	if !ok { // such as that of a merge with a number
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
	if m := lineBegin.FindStringSubmatch(text); m != nil {
		f.line, _ = strconv.Atoi(m[1]) // digits
		text = text[len(m[0]):]
	}
	if m := unknownKey.FindStringSubmatch(text); m != nil {
		return faultAt{f.line, placeOfKey(document, m[1], f.line), noField(m[1], m[2])}
	}
	if m := doubleKey.FindStringSubmatch(text); m != nil {
		name, _ := strconv.Unquote(m[1]) // the library has quoted it
		return faultAt{f.line, placeOfKey(document, name, f.line), m[1] + " stands twice"}
	}
	if m := wrongKind.FindStringSubmatch(text); m != nil {
		got := found[m[1]]
		if m[2] != "" {
			got = fmt.Sprintf("%q", m[2])
		}
		f.text = "want " + wanted[m[3]] + ", not " + got
		if m[3] != whole {
			f.place = placeOfValue(document, m, f.line)
		}
		return f
	}
	f.text = text
	return f
}

// placeOfValue is the place of the innermost value on a line that a match of wrongKind is about, or
// the common place of several. The library cuts long ones.
func placeOfValue(document *yaml.Node, match []string, line int) string {
	value, cut := strings.CutSuffix(match[2], "...")
	names := takers[match[3]] // none: any name, as that of an entry
	_, at := common(document, "", func(n *yaml.Node, name string) bool {
		switch {
		case n.Line != line || names != nil && !slices.Contains(names, name):
			return false
		case match[1] == "seq":
			return n.Kind == yaml.SequenceNode
		case match[1] == "map":
			return n.Kind == yaml.MappingNode
		}
		return n.Kind == yaml.ScalarNode &&
			(n.Value == value || cut && strings.HasPrefix(n.Value, value))
	})
	return at
}

// placeOfKey is the place of the mapping that has a name on a line, or the common place of several.
func placeOfKey(document *yaml.Node, name string, line int) string {
	_, at := common(document, "", func(n *yaml.Node, _ string) bool {
		for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
			if key := n.Content[i]; key.Line == line && key.Value == name {
				return true
			}
		}
		return false
	})
	return at
}

// common returns whether values of a document are what is sought, and the place of the only one or
// what the places of several have in common. Of values in each other the innermost counts. The name
// is that of the value n, or of the list with it.
func common(
	n *yaml.Node, name string, sought func(n *yaml.Node, name string) bool,
) (found bool, at string) {
	for i, part := range n.Content {
		of := name
		if n.Kind == yaml.MappingNode {
			if i%2 == 0 { // a key
				continue
			}
			of = n.Content[i-1].Value
		}
		within, place := common(part, of, sought)
		if within && found {
			return true, ""
		}
		if within {
			found, at = true, under(n, i, place)
		}
	}
	return found || sought(n, name), at
}

// seek returns the first node that is what is sought, and its place; nil: there is none. Parts of a
// node come before it.
func seek(n *yaml.Node, sought func(*yaml.Node) bool) (found *yaml.Node, at string) {
	for i, part := range n.Content {
		if found, at := seek(part, sought); found != nil {
			return found, under(n, i, at)
		}
	}
	if sought(n) {
		return n, ""
	}
	return nil, ""
}

// under is a place within a part of a node as a place within the node.
func under(n *yaml.Node, part int, at string) string {
	name := ""
	if n.Kind == yaml.SequenceNode {
		name = fmt.Sprintf("[%d]", part)
	} else if n.Kind == yaml.MappingNode && part%2 == 1 {
		name = n.Content[part-1].Value
	}
	if name == "" || at == "" || strings.HasPrefix(at, "[") {
		return name + at
	}
	return name + "." + at
}
