package filters

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/catalogue"
)

var must, eventually = check.Must, check.Await

var log = slog.New(slog.NewTextHandler(io.Discard, nil))

// write exchanges the file at path.
func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path+".new", []byte(text), 0o600))
	must(t, os.Rename(path+".new", path))
}

// A file says what its filters are, and a bad one what is wrong with it.
func TestParse(t *testing.T) {
	names := strings.Repeat("x, ", 101)
	for text, want := range map[string]string{
		"":                                   "has no filters",
		"# nothing yet\n":                    "has no filters",
		"a:\n  no_labels: [b]\n":             "",
		"a: {any_categories: [2024, c d]}\n": "",
		"a:\n":                               "line 1, a: a value is missing",
		"a: {no_labels: []}\n":               "a: no conditions",
		"a: {nolabels: [b]}\n":               "line 1, a: there is no nolabels: did you mean no_labels?",
		"a: {no_labels: {b: c}}\n":           "line 1, a.no_labels: want a list of texts, not names with values",
		"a: {no_labels: [[b]]}\n":            "line 1, a.no_labels[0]: want text, not a list",
		"a: {weight: much, bi: 1}\n":         `line 1, a.weight: want a number, not "much"; line 1, a: there is no bi, want weight, by, any_categories, `,
		"b: {no_labels: [c]}\na:\n  any_labels: [d]\n  weight: much\n":               `line 4, a.weight: want a number, not "much"`,
		"a:\n  ranges:\n  - name: b\n    gt: 1\n  - name: c\n    gt: [2]\n":          "line 6, a.ranges[1].gt: want a number, not a list",
		"a:\n  any_labels: [b]\nc: d\n":                                              `line 3, c: want conditions such as {any_labels: [new]}, not "d"`,
		"a:\n  near: 5\n":                                                            `line 2, a.near: want latitude, longitude and radius_km, not "5"`,
		"- a: {no_labels: [x]}\n- b: {weight: 1}\n":                                  "line 1: want a mapping of names to conditions, not a list",
		"a:\n  ranges:\n  - {name: p, gtt: 1}\n":                                     "line 3, a.ranges[0]: there is no gtt: did you mean gt?",
		"a: {near: {radius: 1}}\n":                                                   "line 1, a.near: there is no radius: did you mean radius_km?",
		"a: {weight: 1, by: {numbr: p}}\n":                                           "line 1, a.by: there is no numbr: did you mean number?",
		"a:\n  no_labels: [x]\n  no_labels: [y]\n":                                   `line 3, a: "no_labels" stands twice`,
		"a: {weight: 1, weight: 2}\n":                                                `line 1, a: "weight" stands twice`,
		"a: {any_labels: [weight], weight: far too much}\n":                          `line 1, a.weight: want a number, not "far too..."`,
		"a: {weight: ''}\n":                                                          "line 1, a.weight: want a number, not text",
		"a: [{weight: 1}]\n":                                                         "line 1, a: want conditions such as {any_labels: [new]}, not a list",
		"- a\n":                                                                      "line 1: want a mapping of names to conditions, not a list",
		"a: {ranges: [{name: much, gte: much}]}\n":                                   `line 1, a.ranges[0].gte: want a number, not "much"`,
		"a: {weight: x, any_labels: [x]}\n":                                          `line 1, a.weight: want a number, not "x"`,
		"a: {ranges: [{name: p, any_of: [x]}], any_labels: [x]}\n":                   `line 1, a.ranges[0].any_of[0]: want a number, not "x"`,
		"a: {any_labels: [[x], y], ranges: [[x]]}\n":                                 "line 1, a.any_labels[0]: want text, not a list; line 1, a.ranges[0]: want a range",
		"a: {ranges: [{gte: much, lte: much}]}\n":                                    `line 1, a.ranges[0]: want a number, not "much"; line 1, a.ranges[0]: want`,
		"a: {ranges: [{name: x, gte: gte}]}\n":                                       `line 1, a.ranges[0].gte: want a number, not "gte"`,
		"b: {any_labels: [x], near: [1]}\n":                                          "line 1, b.near: want latitude, longitude and radius_km, not a list",
		"a: {ranges: [{gtt: 1}, {gtt: 2}]}\n":                                        "line 1, a.ranges: there is no gtt: did you mean gt?",
		"a: {no_labels: [b]}\na: {}\n":                                               `FiltersFile: line 2: "a" stands twice`,
		"a: [\n":                                                                     "did not find",
		"a b: {no_labels: [b]}\n":                                                    `the name "a b" must match`,
		"\"\": {no_labels: [b]}\n":                                                   `the name "" must match`,
		"a: {no_labels: [\"\"]}\n":                                                   "a: no_labels[0] is required",
		"a: {no_labels: [" + names + "]}\n":                                          "a: no_labels has 101 elements",
		"a: {no_labels: [b]}\n---\nb: {}\n":                                          "line 2: begins a second document",
		"a: &x {no_labels: [b]}\nb: *x\n":                                            "",
		"a: {no_labels: [\xff]}\n":                                                   "invalid",
		"a: {ranges: [{name: p, gt: 1}]}\n":                                          "",
		"a: {ranges: [{name: P}]}\n":                                                 `a: ranges[0].name must match`,
		"a: {ranges: [{name: p, gt: .nan}]}\n":                                       "a: ranges[0].gt must be a number",
		"a: {ranges: [{name: p}, {name: p, gt: 1, gte: 2}]}\n":                       "line 1, a: ranges[1].gte must not stand beside gt",
		"a: {ranges: [{name: p, lt: 1, lte: 2}]}\n":                                  "line 1, a: ranges[0].lte must not stand beside lt",
		"a: {near: {latitude: 52.5, longitude: 13.4, radius_km: 50}}\n":              "",
		"a: {near: {latitude: 1, radius_km: 1}}\n":                                   "a: near.longitude is required",
		"a: {near: {latitude: 91, longitude: 13.4, radius_km: 50}}\n":                "a: near.latitude must be from -90",
		"a: {near: {latitude: 1, longitude: 0, radius_km: 0}}\n":                     "a: near.radius_km must be from 0.001 to 20100",
		"a: {near: {latitude: 0, longitude: 0, radius_km: 1, latitude_number: A}}\n": "a: near.latitude_number must match",
		"a: {weight: 1}\n":                                                           "",
		"a: {weight: 0, no_labels: [b]}\n":                                           "a: weight must be from -100 to 100, and not 0",
		"a: {weight: .nan}\n":                                                        "a: weight must be from",
		"a:\n  any_labels: [x]\n  near:\n":                                           "line 3, a.near: a value is missing",
		"a: {any_labels: [x, null]}\n":                                               "line 1, a.any_labels[1]: a value is missing",
		"a: {no_labels: [b], by: {number: p}}\n":                                     "a: weight is required beside by",
		"a: {weight: 1, by: {number: p, scale: 2}}\n":                                "",
		"a: {weight: 1, by: {number: p}}\n":                                          "a: by.scale must be above 0",
		"a: {weight: 1, by: {number: '', scale: 1}}\n":                               "a: by.number must match",
		"a: {weight: 1, by: {number: p, scale: 1, origin: .inf}}\n":                  "a: by.origin must be finite",
		"a: {weight: 1, by: {number: p, scale: 1, shape: new}}\n":                    "a: by.shape must be linear, log",
		strings.Repeat("a: {no_labels: [", 999):                                      "", // ends
	} {
		_, err := parse([][]byte{[]byte(text)})
		if strings.HasSuffix(text, "[") && err != nil {
			continue
		}
		if want == "" && err != nil || want != "" &&
			(err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
	var many strings.Builder
	for i := range maxFilters + 1 {
		fmt.Fprintf(&many, "f%d: {no_labels: [b]}\n", i)
	}
	_, err := parse([][]byte{[]byte(many.String())})
	check.Says(t, err, "has 1001 filters and boosts", "a file of many filters")
}

// A fault is told at the line that holds the wrong value, with line ends of Windows too.
func TestLines(t *testing.T) {
	const good = "# The rules.\na:\n  no_labels: [b]\nb:\n  any_labels: [x]\n" // 5 lines
	for more, want := range map[string]string{
		" no: x\n":                           "line 6: not YAML: did not find expected key",
		"  ranges:\n  - name: p\n   gt: 1\n": "line 8: not YAML: did not find expected key",
		"c: {weight: 1}}\nd: 1\n":            "line 6: not YAML: did not find expected key",
		"c:\n  any_labels: [x\nd:\n  e: 1\n": "line 7: not YAML: did not find expected ',' or ']'",
		"- c\nd: 1\n":                        "line 6: not YAML: did not find expected key",
		"c\nd:\n  weight: 1\n":               "line 6: not YAML: could not find expected ':'",
		"c: \"x\n\nd:\n  weight: 1\n":        "line 6: not YAML: found unexpected end of stream",
		"c:\n\tweight: 1\n":                  "line 7: not YAML: it is indented with a tab: use blanks",
		"c: *x\nd: 1\n":                      "line 6: not YAML: unknown anchor 'x'",
		"c:\n  any_labels: [\xff]\n":         "line 7: not YAML: invalid leading UTF-8",
		"c: {<<: 3}\nd: 1\n":                 "map merge requires map",
		"c: !!binary '%%'\nd: 1\n":           "!!binary value contains invalid base64 data",
		"c:\n  weight: much\n":               `line 7, c.weight: want a number, not "much"`,
		"c:\n  weight: 1000\n":               "line 7, c: weight must be from -100 to 100",
		"c:\n  any_labels:\n  - x\n  - ''\n": "line 9, c: any_labels[1] is required",
		"c:\n  ranges:\n  - name: p\n    gt: 1\n  - gt: .nan\n    name: q\n": "line 10, c: ranges[1].gt",
		"c:\n  ranges:\n  - name: gt\n    gt: .nan\n":                        "line 9, c: ranges[0].gt",
		"c:\n  near:\n    latitude: 1\n    radius_km: 1\n":                   "line 7, c: near.longitude",
		"c:\n  no_labels: []\n":                                              "line 6, c: no conditions",
		"c d:\n  weight: 1\n":                                                `line 6: the name "c d" must match`,
	} {
		for _, text := range []string{good + more, strings.ReplaceAll(good+more, "\n", "\r\n")} {
			_, err := parse([][]byte{[]byte(text)})
			check.Says(t, err, want, "%q", text)
		}
	}
}

// All conditions of a filter arrive.
func TestFind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "filters.yaml")
	write(t, path, "one:\n  any_categories: [a]\n  all_categories: [b]\n  no_categories: [c, d]\n"+
		"  any_labels: [e]\n  all_labels: [f]\n  no_labels: [g]\ntwo: {no_labels: [h], ranges: [{name: p, lte: 3}]}\n"+
		"three: {weight: -2, any_labels: [i], by: {number: q, shape: age, origin: 1, scale: 2}}\n")
	s, err := Open(path, log, NewMetrics())
	must(t, err)
	got, err := s.Find(nil, []string{"two", "one"}, "filter.named_filters")
	must(t, err)
	most := 3.0
	want := []*catalogue.Filter{{NoLabels: []string{"h"}, Ranges: []catalogue.Range{
		catalogue.NewRange("p", nil, nil, nil, &most, nil)}}, {
		AnyCategories: []string{"a"}, AllCategories: []string{"b"},
		NoCategories: []string{"c", "d"}, AnyLabels: []string{"e"}, AllLabels: []string{"f"},
		NoLabels: []string{"g"}}}
	check.Same(t, want, got, "filters")
	boosts := check.Get(s.FindBoosts([]string{"three"}))(t)
	check.Same(t, []*catalogue.Boost{{Name: "three", Weight: -2,
		Filter: catalogue.Filter{AnyLabels: []string{"i"}},
		By:     catalogue.Curve{Number: "q", Shape: catalogue.Age, Origin: 1, Scale: 2}}}, boosts, "boosts")
	_, err = s.FindBoosts([]string{"one"})
	check.Says(t, err, "named_boosts[0] is the name of no boost; this server has three", "a filter")
}

// The names in an error are sorted, and few.
func TestUnknownError(t *testing.T) {
	e := &UnknownError{Field: "filter.named_filters", Kind: "filter", Index: 3}
	for i := range 25 {
		e.Known = append(e.Known, fmt.Sprintf("f%02d", i))
	}
	if got := e.Error(); !strings.HasPrefix(got, "filter.named_filters[3] ") ||
		!strings.HasSuffix(got, " has f00, f01, f02, f03, f04, f05, f06, f07, f08, f09, f10, f11, "+
			"f12, f13, f14, f15, f16, f17, f18, f19 and 5 more") {
		t.Errorf("the error is %q", got)
	}
}

// A new file is taken, and a bad one, or none, changes nothing.
func TestReload(t *testing.T) {
	path, metrics := filepath.Join(t.TempDir(), "filters.yaml"), NewMetrics()
	write(t, path, "a: {no_labels: [b]}\n")
	s := check.Get(Open(path, log, metrics))(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { s.Watch(ctx, time.Millisecond); close(done) }()
	defer func() { stop(); <-done }()
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.Collectors()...)
	count := func(result string) float64 {
		families := check.Get(registry.Gather())(t)
		for _, m := range families[0].GetMetric() {
			if m.GetLabel()[0].GetValue() == result {
				return m.GetCounter().GetValue()
			}
		}
		return -1
	}
	wait := func(result string, n float64) {
		t.Helper()
		eventually(t, fmt.Sprint(n, " reloads with ", result),
			func() bool { return count(result) >= n })
	}
	write(t, path, "c: {no_labels: [d]}\n")
	wait("success", 1)
	if _, err := s.Find(nil, []string{"c"}, "filter.named_filters"); err != nil {
		t.Error(err)
	}
	if _, err := s.Find(nil, []string{"a"}, "filter.named_filters"); err == nil {
		t.Error("the old filter is still there")
	}
	write(t, path, "e: [")
	wait("failure", 1)
	must(t, os.Remove(path))
	wait("failure", 2)
	check.Pass(t, check.Err(s.Find(nil, []string{"c"}, "filter.named_filters")), "after bad files")
}

// The entries are listed in the order of the file, as they stand there and as what they say.
func TestList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "filters.yaml")
	write(t, path, "b: {weight: 2} # why\n\n# of a\na:\n    no_labels: [x]\n    # what\n    ranges:\n"+
		"    - {name: p, gt: 1}\n")
	s := check.Get(Open(path, log, NewMetrics()))(t)
	got := check.Get(s.List(t.Context()))(t)
	one := 1.0
	check.Same(t, []*pb.NamedFilter{
		{Name: "b", Entry: "{weight: 2} # why\n", Rule: &pb.NamedFilter_Boost{
			Boost: &pb.Boost{Name: "b", Weight: 2, Filter: &pb.ItemFilter{}}}},
		{Name: "a", Entry: "no_labels: [x]\n# what\nranges:\n  - {name: p, gt: 1}\n",
			Rule: &pb.NamedFilter_Filter{Filter: &pb.ItemFilter{NoLabels: []string{"x"},
				Ranges: []*pb.NumberRange{{Name: "p", Gt: &one}}}}},
	}, got.GetFilters(), "entries")
	write(t, path, "a: {weight: 1}\n")
	if again := check.Get(s.List(t.Context()))(t); again.GetVersion() == got.GetVersion() {
		t.Error("another file has the same version")
	}
	for text, want := range map[string]string{"a: [": "is bad now: line 1: not YAML: did not find",
		"a: {}": "is bad now: line 1, a: no conditions", "": "is bad now: has no filters"} {
		write(t, path, text)
		_, err := s.List(t.Context())
		check.Says(t, err, "the server's file of filters "+want, "%q", text)
	}
	must(t, os.Remove(path))
	_, err := s.List(t.Context())
	check.Says(t, err, "the server's file of filters cannot be read: no such file", "no file")
	none := check.Get(Open("", log, NewMetrics()))(t)
	check.Same(t, "", check.Get(none.List(t.Context()))(t).GetVersion(), "the version of no file")
}
