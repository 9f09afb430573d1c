// Package filters keeps the filters and the boosts that requests use by name, as a file has them.
//
// The file is a map in YAML from names to conditions, which are those of a request's filter about
// categories, labels and numbers. With a weight they are those of a boost:
//
//	family:
//	  no_labels: [adult, gore]
//	summer:
//	  any_categories: [garden, beach]
//	  no_labels: [winter]
//	  ranges: [{name: price, gte: 10, lt: 50}]
//	fresh:
//	  weight: 0.5
//	  by: {number: published, shape: age, scale: 604800}
//
// It is read again when its content changes. A bad new file changes nothing, and is counted and
// logged once.
package filters

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/server/internal/catalogue"
	"github.com/gsimc/gsimc/server/internal/metric"
	"github.com/gsimc/gsimc/server/internal/watched"
)

const (
	// field is the one of the configuration that names the file.
	field = "FiltersFile"
	// maxFilters bounds the filters of a file, maxNames each of their lists, and maxRanges their
	// ranges, as in requests.
	maxFilters, maxNames, maxRanges = 1000, 100, 20
	maxWeight                       = 100 // of a boost, as in requests
)

// Set is the filters of a file. It is safe for concurrent use.
type Set struct {
	files *watched.Files[table] // nil: there is no file, and no filter
}

// table is one version of the file, by names.
type table struct {
	filters map[string]*catalogue.Filter
	boosts  map[string]*catalogue.Boost
}

// Open reads the file, which must be good now; later ones may be bad. An empty name: there are no
// filters. The error is a fault of the field FiltersFile.
func Open(file string, log *slog.Logger, metrics *Metrics) (*Set, error) {
	if file == "" {
		return &Set{}, nil
	}
	s := &Set{&watched.Files[table]{Name: "filters",
		Paths: []watched.Path{{Field: field, Name: file}}, Parse: parse, Log: log,
		Reloaded: metrics.reloaded}}
	return s, s.files.Open()
}

// Watch takes changes of the file at this interval until ctx ends.
func (s *Set) Watch(ctx context.Context, every time.Duration) { s.files.Watch(ctx, every) }

// Find appends the filters of these names, which stand in a field, to dst, all of one version of
// the file. The error is an [*UnknownError].
func (s *Set) Find(
	dst []*catalogue.Filter, names []string, field string,
) ([]*catalogue.Filter, error) {
	return find(dst, names, s.table().filters, field, "filter")
}

// FindBoosts returns the boosts of these names, all of one version of the file. The error is an
// [*UnknownError].
func (s *Set) FindBoosts(names []string) ([]*catalogue.Boost, error) {
	return find(nil, names, s.table().boosts, "named_boosts", "boost")
}

func (s *Set) table() table {
	if s.files == nil {
		return table{}
	}
	return s.files.Get()
}

// find appends the values of names to dst. field has the names, and kind is what they are of.
func find[V any](
	dst []V, names []string, known map[string]V, field, kind string,
) ([]V, error) {
	for i, name := range names {
		v, found := known[name]
		if !found {
			return dst, &UnknownError{Field: field, Kind: kind, Index: i,
				Known: slices.Sorted(maps.Keys(known))}
		}
		dst = append(dst, v)
	}
	return dst, nil
}

// UnknownError is the outcome of a name that no filter, or no boost, has. Like other texts for
// clients, its own does not repeat what the request says.
type UnknownError struct {
	Field string   // of the names
	Kind  string   // of what has them
	Index int      // of the name
	Known []string // those that there are, sorted
}

// shownNames bounds the names in the text of an [UnknownError].
const shownNames = 20

// Error names those that there are, unless they are very many.
func (e *UnknownError) Error() string {
	shown := strings.Join(e.Known[:min(len(e.Known), shownNames)], ", ")
	switch more := len(e.Known) - shownNames; {
	case len(e.Known) == 0:
		shown = "none"
	case more > 0:
		shown += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s[%d] is the name of no %s; this server has %s", e.Field, e.Index, e.Kind,
		shown)
}

// conditions are a filter, or a boost, as it stands in the file.
type conditions struct {
	Weight        *float64 `yaml:"weight"`
	By            *curve   `yaml:"by"`
	AnyCategories []string `yaml:"any_categories"`
	AllCategories []string `yaml:"all_categories"`
	NoCategories  []string `yaml:"no_categories"`
	AnyLabels     []string `yaml:"any_labels"`
	AllLabels     []string `yaml:"all_labels"`
	NoLabels      []string `yaml:"no_labels"`
	Ranges        []bounds `yaml:"ranges"`
}

// bounds are a range as it stands in the file.
type bounds struct {
	Name  string    `yaml:"name"`
	Gt    *float64  `yaml:"gt"`
	Gte   *float64  `yaml:"gte"`
	Lt    *float64  `yaml:"lt"`
	Lte   *float64  `yaml:"lte"`
	AnyOf []float64 `yaml:"any_of"`
}

// namePattern is the form of the names of filters.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// parse implements the Parse of [watched.Files].
func parse(texts [][]byte) (table, error) {
	d := yaml.NewDecoder(bytes.NewReader(texts[0]))
	d.KnownFields(true)
	read := map[string]conditions{}
	if err := d.Decode(&read); errors.Is(err, io.EOF) {
		return table{}, bad("has no filters") // as a file that is being written
	} else if err != nil {
		return table{}, &fault.Fault{Field: field, Err: err}
	}
	if err := d.Decode(&read); !errors.Is(err, io.EOF) {
		return table{}, bad("has more than one document")
	}
	if len(read) > maxFilters {
		return table{}, bad(fmt.Sprintf("has %d filters and boosts, at most %d are allowed",
			len(read), maxFilters))
	}
	t := table{map[string]*catalogue.Filter{}, map[string]*catalogue.Boost{}}
	for _, name := range slices.Sorted(maps.Keys(read)) {
		if !namePattern.MatchString(name) {
			return table{}, bad(fmt.Sprintf("the name %q must match %s", name, namePattern))
		}
		c := read[name]
		if problem := c.problem(); problem != "" {
			return table{}, bad(name + " " + problem)
		}
		if f := c.filter(); c.Weight == nil {
			t.filters[name] = f
		} else {
			t.boosts[name] = &catalogue.Boost{Name: name, Weight: *c.Weight, Filter: *f,
				By: c.By.curve()}
		}
	}
	return t, nil
}

// filter is the filter that the conditions are, or that those of a boost are.
func (c *conditions) filter() *catalogue.Filter {
	f := &catalogue.Filter{AnyCategories: c.AnyCategories, AllCategories: c.AllCategories,
		NoCategories: c.NoCategories, AnyLabels: c.AnyLabels, AllLabels: c.AllLabels,
		NoLabels: c.NoLabels}
	for _, r := range c.Ranges {
		f.Ranges = append(f.Ranges, catalogue.NewRange(r.Name, r.Gt, r.Gte, r.Lt, r.Lte, r.AnyOf))
	}
	return f
}

func bad(problem string) error { return &fault.Fault{Field: field, Problem: problem} }

// problem says what is wrong with the conditions; empty: nothing.
func (c *conditions) problem() string {
	lists := [][]string{c.AnyCategories, c.AllCategories, c.NoCategories, c.AnyLabels, c.AllLabels,
		c.NoLabels}
	all := slices.Concat(lists...)
	if problem := c.boostProblem(); problem != "" {
		return problem
	}
	if len(all)+len(c.Ranges) == 0 && c.Weight == nil {
		return "has no conditions: want any_categories, all_categories, no_categories, " +
			"any_labels, all_labels, no_labels or ranges, or a weight"
	}
	if len(c.Ranges) > maxRanges {
		return fmt.Sprintf("has %d ranges, at most %d are allowed", len(c.Ranges), maxRanges)
	}
	for _, r := range c.Ranges {
		if problem := r.problem(); problem != "" {
			return problem
		}
	}
	for _, list := range lists {
		if len(list) > maxNames {
			return fmt.Sprintf("has a list of %d names, at most %d are allowed", len(list),
				maxNames)
		}
	}
	for _, name := range all {
		if name == "" || len(name) > event.MaxIDBytes || !utf8.ValidString(name) {
			return fmt.Sprintf("has the name %.80q, want 1 to %d bytes of UTF-8", name,
				event.MaxIDBytes)
		}
	}
	return ""
}

// curve is by which number a boost goes, as it stands in the file.
type curve struct {
	Number string  `yaml:"number"`
	Shape  string  `yaml:"shape"`
	Origin float64 `yaml:"origin"`
	Scale  float64 `yaml:"scale"`
}

// shapes are those of curves, by the names of the protocol in small letters.
var shapes = map[string]catalogue.Shape{"": catalogue.Linear, "linear": catalogue.Linear,
	"log": catalogue.Log, "gauss": catalogue.Gauss, "age": catalogue.Age}

// curve returns the curve; c may be nil.
func (c *curve) curve() catalogue.Curve {
	if c == nil {
		return catalogue.Curve{}
	}
	return catalogue.Curve{Number: c.Number, Shape: shapes[c.Shape], Origin: c.Origin,
		Scale: c.Scale}
}

// boostProblem says what is wrong with what a boost has beside a filter; empty: nothing.
func (c *conditions) boostProblem() string {
	switch by := c.By; {
	case c.Weight == nil && by == nil:
	case c.Weight == nil:
		return "has by without a weight"
	case !(math.Abs(*c.Weight) <= maxWeight) || *c.Weight == 0:
		return fmt.Sprintf("has the weight %v, want -%d to %d, and not 0", *c.Weight, maxWeight,
			maxWeight)
	case by == nil:
	case !event.ValidNumberName(by.Number):
		return fmt.Sprintf("goes by the number %.80q, whose name must match %s", by.Number,
			event.NumberSpelling)
	case shapes[by.Shape] == 0:
		return fmt.Sprintf("has the shape %.80q, want linear, log, gauss or age", by.Shape)
	case math.IsNaN(by.Origin - by.Origin):
		return "has an origin that is not finite"
	case !(by.Scale > 0) || math.IsInf(by.Scale, 1):
		return fmt.Sprintf("has the scale %v, want a finite number above 0", by.Scale)
	}
	return ""
}

// problem says what is wrong with the bounds; empty: nothing.
func (b *bounds) problem() string {
	if !event.ValidNumberName(b.Name) {
		return fmt.Sprintf("has a range of the name %.80q, which must match %s", b.Name,
			event.NumberSpelling)
	}
	numbers := slices.Clone(b.AnyOf)
	for _, bound := range []*float64{b.Gt, b.Gte, b.Lt, b.Lte} {
		if bound != nil {
			numbers = append(numbers, *bound)
		}
	}
	switch {
	case slices.ContainsFunc(numbers, math.IsNaN):
		return "has a bound of " + b.Name + " that is no number"
	case len(b.AnyOf) > maxNames:
		return fmt.Sprintf("has a list of %d numbers, at most %d are allowed", len(b.AnyOf),
			maxNames)
	}
	return ""
}

// Metrics are the series of the filters.
type Metrics struct {
	metric.Set
	reloaded func(good bool)
}

// NewMetrics makes the metrics.
func NewMetrics() *Metrics {
	m := &Metrics{}
	m.reloaded = metric.Outcomes(m.Counters("gsimc_filter_reloads_total",
		"Changed files of filters, by whether they were taken.", "result"))
	return m
}
