package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gsimc/gsimc/internal/near"
)

// argument is one that a tool takes.
type argument struct {
	name     string
	kind     reflect.Kind
	required bool
}

// argumentsOf lists the arguments of a tool: the fields of its input.
func argumentsOf(input reflect.Type) (all []argument) {
	for _, f := range reflect.VisibleFields(input) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" { // else it is embedded, and its fields follow
			all = append(all, argument{name, f.Type.Kind(), options != "omitempty"})
		}
	}
	return all
}

// clearly says what is wrong with arguments in words: the SDK does it in those of schemas. It also
// takes arguments that are null for arguments that are left out, as agents mean it.
func clearly(tools map[string][]argument) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			call, ok := r.(*mcp.CallToolRequest)
			if !ok || tools[call.Params.Name] == nil {
				return next(ctx, method, r)
			}
			call.Params.Arguments = withoutNulls(call.Params.Arguments)
			result, err := next(ctx, method, r)
			if answer, ok := result.(*mcp.CallToolResult); ok && answer.IsError {
				if text := wrong(tools[call.Params.Name], call.Params.Arguments); text != "" {
					answer.Content = []mcp.Content{&mcp.TextContent{Text: text}}
				}
			}
			return result, err
		}
	}
}

// withoutNulls leaves the members of an object out that are null.
func withoutNulls(raw json.RawMessage) json.RawMessage {
	var given map[string]json.RawMessage
	if json.Unmarshal(raw, &given) != nil {
		return raw
	}
	maps.DeleteFunc(given, func(_ string, v json.RawMessage) bool {
		return string(bytes.TrimSpace(v)) == "null"
	})
	short, _ := json.Marshal(given) // what was JSON always can be
	return short
}

// wrong says what is wrong with the arguments of a tool, and what to give; "": nothing.
func wrong(all []argument, raw json.RawMessage) string {
	names := make([]string, len(all))
	for i, a := range all {
		names[i] = a.name
	}
	var given map[string]json.RawMessage
	if len(raw) > 0 && json.Unmarshal(raw, &given) != nil {
		return "the arguments are not an object of JSON: give " + either(names)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		at := slices.Index(names, name)
		if at < 0 {
			meant := either(names)
			if at = near.Index(name, names); at >= 0 {
				meant = names[at]
			}
			return fmt.Sprintf("%.40q is no argument: give %s", name, meant)
		}
		if want := all[at].refuses(given[name]); want != "" {
			return fmt.Sprintf("%s is %.40s: give %s", name, given[name], want)
		}
	}
	for _, a := range all {
		if a.required && given[a.name] == nil {
			return a.name + " is missing: give it"
		}
	}
	return ""
}

// either lists names, of which one is to be given.
func either(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// refuses returns what is to be given in place of a value; "": it is right.
func (a argument) refuses(value json.RawMessage) (want string) {
	var into any
	switch a.kind {
	case reflect.String:
		into, want = new(string), "a text"
	case reflect.Bool:
		into, want = new(bool), "true or false"
	case reflect.Slice:
		texts := new([]*string) // []string takes null for an empty text
		into, want = texts, "a list of texts"
		if json.Unmarshal(value, texts) == nil && slices.Contains(*texts, nil) {
			return want
		}
	default:
		number := new(float64) // as 2.0, which JSON takes for a whole number
		into, want = number, "a whole number"
		if json.Unmarshal(value, number) == nil &&
			(*number != math.Trunc(*number) || math.Abs(*number) > math.MaxInt32) {
			return want
		}
	}
	if json.Unmarshal(value, into) != nil {
		return want
	}
	return ""
}
