package httpjson

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"

	"github.com/gsimc/gsimc/server/internal/valid"
)

// routes are all routes, by the method and the path with {} for an id. They are read from
// openapi.json, so what it names is what the server takes.
type routes map[string]route

// route is what a route takes in a query and in its path, and the method that it calls.
type route struct {
	parameters []parameter
	rpc        string
}

// parameter is one that a route may have, in the query or in the path. Name is in lower camel case.
type parameter struct {
	Name   string `json:"name"`
	In     string `json:"in"`
	schema `json:"schema"`
}

// schema is what a parameter takes.
type schema struct {
	Type   string   `json:"type"`
	Format string   `json:"format"`
	Enum   []string `json:"enum"`
}

const (
	inQuery  = "query"
	inPath   = "path"
	listType = "array" // a type; those of the elements are texts
)

func readRoutes(api []byte) (routes, error) {
	var file struct {
		Paths map[string]map[string]struct {
			Parameters []parameter `json:"parameters"`
			// RecommenderService_Recommend, with a number if it is not the first of its method
			OperationID string `json:"operationId"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(api, &file); err != nil {
		return nil, fmt.Errorf("openapi.json: %w", err)
	}
	all := routes{}
	for path, methods := range file.Paths {
		for method, r := range methods {
			service, rpc, _ := strings.Cut(strings.TrimRight(r.OperationID, "0123456789"), "_")
			all[routeOf(strings.ToUpper(method), path)] = route{r.Parameters,
				"/gsimc.v1." + service + "/" + rpc}
		}
	}
	return all, nil
}

// routeOf is the name of a route. A variable of the path is {userId} in openapi.json, and
// {user_id=*} in a pattern of the library.
func routeOf(method, path string) string {
	var b strings.Builder
	b.WriteString(method)
	for {
		before, rest, found := strings.Cut(path, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("{}")
		_, path, _ = strings.Cut(rest, "}")
	}
}

// methods returns the methods of HTTP that a path has, in order.
func (all routes) methods(of string) (methods []string) {
	for name := range all {
		at := strings.IndexByte(name, '/')
		pattern := strings.ReplaceAll(name[at:], "{}", "*")
		if ok, _ := path.Match(pattern, of); ok {
			methods = append(methods, name[:at])
		}
	}
	slices.Sort(methods)
	return methods
}

// of returns the route that the library has found for a request.
func (all routes) of(r *http.Request) route {
	pattern, _ := runtime.HTTPPattern(r.Context())
	return all[routeOf(r.Method, pattern.String())]
}

// check is the middleware that refuses a request whose query has what its route does not take. The
// library would pass over it, so that a list would come without the filter that was asked for.
func (all routes) check(next runtime.HandlerFunc) runtime.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, ids map[string]string) {
		values, err := url.ParseQuery(r.URL.RawQuery)
		if err == nil {
			err = checkQuery(values, all.of(r).parameters)
		} else {
			err = valid.Bad("the query", "cannot be read")
		}
		for name, id := range ids {
			if !utf8.ValidString(id) {
				err = valid.Bad(name, "is not valid UTF-8")
			}
		}
		if err != nil {
			refuse(w, err)
			return
		}
		next(w, r, ids)
	}
}

// checkQuery returns the fault of the first bad parameter, in the order of the names.
func checkQuery(values url.Values, known []parameter) error {
	met := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		name, spelled := lowerCamel(key)
		at := slices.IndexFunc(known, func(p parameter) bool { return p.Name == name })
		var problem string
		switch {
		case at < 0 || !spelled:
			problem = "is not a parameter of this call" + suggestion(key, queryNames(known))
		case known[at].In == inPath:
			problem = "is in the path, and may not be in the query"
		case met[name]:
			problem = "is there in two spellings"
		default:
			problem = known[at].problem(values[key])
		}
		if problem != "" {
			return valid.Bad(printable(key), problem)
		}
		met[name] = true
	}
	return nil
}

// queryNames are the names of the parameters of a query, in snake case.
func queryNames(known []parameter) (names []string) {
	for _, p := range known {
		if p.In == inQuery {
			names = append(names, snake(p.Name))
		}
	}
	return names
}

// problem returns what is wrong with the values of a parameter, or nothing.
func (p *parameter) problem(values []string) string {
	switch {
	case slices.ContainsFunc(values, func(v string) bool { return !utf8.ValidString(v) }):
		return "is not valid UTF-8"
	case p.Type == listType:
		return ""
	case len(values) != 1:
		return "is there more than once"
	case len(p.Enum) > 0:
		_, err := strconv.ParseInt(values[0], 10, 32)
		if err != nil && !slices.Contains(p.Enum, values[0]) {
			return "must be one of " + strings.Join(p.Enum, ", ")
		}
		return ""
	}
	k, ok := kinds[strings.TrimSpace(p.Type+" "+p.Format)]
	if ok && !k.reads(values[0]) {
		return "must be " + k.wanted
	}
	return ""
}

// kinds are the values that the library reads, by type and format. It reads them again, by the same
// functions, and its own error has the words of a parser.
var kinds = map[string]struct {
	wanted string
	reads  func(string) bool
}{
	"boolean":       {"true or false", reads(runtime.Bool)},
	"integer int32": {"a whole number", reads(runtime.Int32)},
	"number double": {"a number", reads(runtime.Float64)},
	"string byte":   {"in base64", reads(runtime.Bytes)},
	"string uint64": {"a whole number from 0 on", reads(runtime.Uint64)},
}

func reads[T any](parse func(string) (T, error)) func(string) bool {
	return func(value string) bool {
		_, err := parse(value)
		return err == nil
	}
}
