// Package filters keeps the filters that requests use by name, as a file has them.
//
// The file is a map in YAML from names to conditions, which are those of a request's filter about
// categories and labels:
//
//	family:
//	  no_labels: [adult, gore]
//	summer:
//	  any_categories: [garden, beach]
//	  no_labels: [winter]
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
	// maxFilters bounds the filters of a file, and maxNames each of their lists, as in requests.
	maxFilters, maxNames = 1000, 100
)

// Set is the filters of a file. It is safe for concurrent use.
type Set struct {
	files *watched.Files[table] // nil: there is no file, and no filter
}

// table is the filters of one version of the file, by their names.
type table map[string]*catalogue.Filter

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

// Find appends the filters of these names to dst, all of one version of the file. The error is an
// [*UnknownError].
func (s *Set) Find(dst []*catalogue.Filter, names []string) ([]*catalogue.Filter, error) {
	if len(names) == 0 {
		return dst, nil
	}
	var known table
	if s.files != nil {
		known = s.files.Get()
	}
	for i, name := range names {
		f, found := known[name]
		if !found {
			return dst, &UnknownError{Index: i, Known: slices.Sorted(maps.Keys(known))}
		}
		dst = append(dst, f)
	}
	return dst, nil
}

// UnknownError is the outcome of a name that no filter has. Like other texts for clients, its own
// does not repeat what the request says.
type UnknownError struct {
	Index int      // of the name
	Known []string // those that there are, sorted
}

// shownNames bounds the names in the text of an [UnknownError].
const shownNames = 20

// Error names the filters that there are, unless they are very many.
func (e *UnknownError) Error() string {
	shown := strings.Join(e.Known[:min(len(e.Known), shownNames)], ", ")
	switch more := len(e.Known) - shownNames; {
	case len(e.Known) == 0:
		shown = "none"
	case more > 0:
		shown += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("filter.named_filters[%d] is the name of no filter; this server has %s",
		e.Index, shown)
}

// conditions are a filter as it stands in the file.
type conditions struct {
	AnyCategories []string `yaml:"any_categories"`
	AllCategories []string `yaml:"all_categories"`
	NoCategories  []string `yaml:"no_categories"`
	AnyLabels     []string `yaml:"any_labels"`
	AllLabels     []string `yaml:"all_labels"`
	NoLabels      []string `yaml:"no_labels"`
}

// namePattern is the form of the names of filters.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// parse implements the Parse of [watched.Files].
func parse(texts [][]byte) (table, error) {
	d := yaml.NewDecoder(bytes.NewReader(texts[0]))
	d.KnownFields(true)
	read := map[string]conditions{}
	if err := d.Decode(&read); errors.Is(err, io.EOF) {
		return nil, bad("has no filters") // as a file that is being written
	} else if err != nil {
		return nil, &fault.Fault{Field: field, Err: err}
	}
	if err := d.Decode(&read); !errors.Is(err, io.EOF) {
		return nil, bad("has more than one document")
	}
	if len(read) > maxFilters {
		return nil, bad(fmt.Sprintf("has %d filters, at most %d are allowed", len(read),
			maxFilters))
	}
	t := make(table, len(read))
	for _, name := range slices.Sorted(maps.Keys(read)) {
		if !namePattern.MatchString(name) {
			return nil, bad(fmt.Sprintf("the name %q must match %s", name, namePattern))
		}
		c := read[name]
		if problem := c.problem(); problem != "" {
			return nil, bad(name + " " + problem)
		}
		t[name] = &catalogue.Filter{AnyCategories: c.AnyCategories, AllCategories: c.AllCategories,
			NoCategories: c.NoCategories, AnyLabels: c.AnyLabels, AllLabels: c.AllLabels,
			NoLabels: c.NoLabels}
	}
	return t, nil
}

func bad(problem string) error { return &fault.Fault{Field: field, Problem: problem} }

// problem says what is wrong with the conditions; empty: nothing.
func (c *conditions) problem() string {
	lists := [][]string{c.AnyCategories, c.AllCategories, c.NoCategories, c.AnyLabels, c.AllLabels,
		c.NoLabels}
	all := slices.Concat(lists...)
	if len(all) == 0 {
		return "has no conditions: want any_categories, all_categories, no_categories, " +
			"any_labels, all_labels or no_labels"
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
