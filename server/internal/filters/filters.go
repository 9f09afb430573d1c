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
// logged once. [Set.Save] changes an entry of it for a client.
package filters

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/file/yamltext"
	"github.com/gsimc/gsimc/server/internal/catalogue"
	"github.com/gsimc/gsimc/server/internal/metric"
	"github.com/gsimc/gsimc/server/internal/valid"
	"github.com/gsimc/gsimc/server/internal/watched"
)

const (
	// field is the one of the configuration that names the file.
	field = "FiltersFile"
	// maxFilters bounds the filters and boosts of a file.
	maxFilters = 1000
)

// Set is the filters of a file. It is safe for concurrent use.
type Set struct {
	files *watched.Files[table] // nil: there is no file, and no filter
	turn  chan struct{}         // of the call that reads or changes the file for a client
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
	s := &Set{turn: make(chan struct{}, 1), files: &watched.Files[table]{Name: "filters",
		Paths: []watched.Path{{Field: field, Name: file}}, Parse: parse, Log: log,
		Reloaded: metrics.reloaded}}
	return s, s.files.Open()
}

// Watch takes changes of the file at this interval until ctx ends.
func (s *Set) Watch(ctx context.Context, every time.Duration) { s.files.Watch(ctx, every) }

// LookNow takes a change of the file at once: see [watched.Files.LookNow].
func (s *Set) LookNow(ctx context.Context) {
	if s.files != nil {
		s.files.LookNow(ctx)
	}
}

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

// Fault lists the first names of e.Known, at most shownNames of them.
func (e *UnknownError) Fault() valid.Fault {
	shown := strings.Join(e.Known[:min(len(e.Known), shownNames)], ", ")
	switch more := len(e.Known) - shownNames; {
	case len(e.Known) == 0:
		shown = "none"
	case more > 0:
		shown += fmt.Sprintf(" and %d more", more)
	}
	return valid.Fault{Field: fmt.Sprintf("%s[%d]", e.Field, e.Index),
		Text: fmt.Sprintf("is the name of no %s; this server has %s", e.Kind, shown)}
}

// Error is the field and the text of the fault.
func (e *UnknownError) Error() string {
	f := e.Fault()
	return f.Field + " " + f.Text
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
	Near          *circle  `yaml:"near"`
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

// circle is a point and a distance as they stand in the file.
type circle struct {
	Latitude        *float64 `yaml:"latitude"`
	Longitude       *float64 `yaml:"longitude"`
	RadiusKm        float64  `yaml:"radius_km"`
	LatitudeNumber  string   `yaml:"latitude_number"`
	LongitudeNumber string   `yaml:"longitude_number"`
}

// curve is by which number a boost goes, as it stands in the file.
type curve struct {
	Number string  `yaml:"number"`
	Shape  string  `yaml:"shape"`
	Origin float64 `yaml:"origin"`
	Scale  float64 `yaml:"scale"`
}

// parse implements the Parse of [watched.Files].
func parse(texts [][]byte) (table, error) {
	read, document, err := decode(texts[0])
	if err != nil {
		return table{}, err
	}
	return tableOf(read, document)
}

// decode reads the entries of a text, which may still break the rules of their fields.
func decode(text []byte) (read map[string]conditions, document *yaml.Node, err error) {
	document = new(yaml.Node)
	if err := yaml.Unmarshal(text, document); err != nil {
		return nil, nil, bad(notYAML(text, err))
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&read); errors.Is(err, io.EOF) {
		return nil, nil, badText("has no filters") // as a file that is being written
	} else if err != nil {
		return nil, nil, bad(worded(err, document))
	}
	if err := d.Decode(&read); !errors.Is(err, io.EOF) {
		return nil, nil, bad(faults{{line: yamltext.Second(text),
			text: "begins a second document: want one, without ---"}})
	}
	if len(read) > maxFilters {
		return nil, nil, badText(fmt.Sprintf("has %d filters and boosts, at most %d are allowed",
			len(read), maxFilters))
	}
	// Such as a condition that somebody has yet to write.
	if blank, at := seek(document, func(n *yaml.Node) bool {
		return n.Kind == yaml.ScalarNode && n.Tag == "!!null"
	}); blank != nil {
		return nil, nil, bad(faults{{blank.Line, at, "a value is missing"}})
	}
	return read, document, nil
}

// tableOf checks the entries.
func tableOf(read map[string]conditions, document *yaml.Node) (table, error) {
	t := table{map[string]*catalogue.Filter{}, map[string]*catalogue.Boost{}}
	for _, name := range slices.Sorted(maps.Keys(read)) {
		if !valid.FilterName.MatchString(name) {
			return table{}, bad(faults{{line: lineOf(document, name, ""),
				text: fmt.Sprintf("the name %q must match %s", name, valid.FilterName)}})
		}
		c := read[name]
		b, err := c.boost(name)
		if err != nil {
			return table{}, bad(entryFault(document, name, err))
		}
		if boost := BoostOf(b, nil); c.Weight == nil {
			t.filters[name] = &boost.Filter
		} else {
			t.boosts[name] = &boost
		}
	}
	return t, nil
}

func bad(err error) error { return &fault.Fault{Field: field, Err: err} }

func badText(problem string) error { return &fault.Fault{Field: field, Problem: problem} }

// boost returns the entry as a request's boost, whose weight is 1 if the entry is a filter. The
// error names the field of the entry.
func (c *conditions) boost(name string) (*pb.Boost, error) {
	f := &pb.ItemFilter{AnyCategories: c.AnyCategories, AllCategories: c.AllCategories,
		NoCategories: c.NoCategories, AnyLabels: c.AnyLabels, AllLabels: c.AllLabels,
		NoLabels: c.NoLabels}
	for _, r := range c.Ranges {
		f.Ranges = append(f.Ranges, &pb.NumberRange{Name: r.Name, Gt: r.Gt, Gte: r.Gte, Lt: r.Lt,
			Lte: r.Lte, AnyOf: r.AnyOf})
	}
	if n := c.Near; n != nil {
		f.Near = &pb.Near{Latitude: n.Latitude, Longitude: n.Longitude, RadiusKm: n.RadiusKm,
			LatitudeNumber: n.LatitudeNumber, LongitudeNumber: n.LongitudeNumber}
	}
	b := &pb.Boost{Name: name, Filter: f, Weight: 1}
	if c.Weight != nil {
		b.Weight = *c.Weight
	}
	if by := c.By; by != nil {
		shape, known := shapes[by.Shape]
		if !known {
			return nil, valid.Bad("by.shape", "must be linear, log, gauss or age")
		}
		b.By = &pb.NumberCurve{Number: by.Number, Shape: shape, Origin: by.Origin, Scale: by.Scale}
	}
	switch {
	case c.Weight == nil && c.By != nil:
		return nil, valid.Bad("weight", "is required beside by")
	case c.Weight == nil && proto.Equal(f, &pb.ItemFilter{}):
		return nil, errors.New("no conditions: want any_categories, all_categories, " +
			"no_categories, any_labels, all_labels, no_labels, ranges or near, or a weight")
	}
	err := valid.Boost(b)
	if invalid, ok := errors.AsType[*valid.Error](err); ok {
		for i := range invalid.Faults { // in the file, they are fields of the entry
			invalid.Faults[i].Field = strings.TrimPrefix(invalid.Faults[i].Field, "filter.")
		}
	}
	return b, err
}

// shapes are those of curves, by their names in the file.
var shapes = map[string]pb.NumberCurve_Shape{
	"": pb.NumberCurve_SHAPE_LINEAR, "linear": pb.NumberCurve_SHAPE_LINEAR,
	"log": pb.NumberCurve_SHAPE_LOG, "gauss": pb.NumberCurve_SHAPE_GAUSS,
	"age": pb.NumberCurve_SHAPE_AGE,
}

// BoostOf returns the boost of the catalogue for a request's boost b. named are the filters whose
// names stand in b.filter.named_filters.
func BoostOf(b *pb.Boost, named []*catalogue.Filter) catalogue.Boost {
	by := b.GetBy()
	return catalogue.Boost{Name: b.GetName(), Weight: b.GetWeight(),
		Filter: Of(b.GetFilter(), named), By: catalogue.Curve{Number: by.GetNumber(),
			Shape: catalogue.Shape(by.GetShape()), Origin: by.GetOrigin(), Scale: by.GetScale()}}
}

// Of returns the filter of the catalogue for a request's filter f, without its lists of ids. named
// are the filters whose names stand in f.named_filters.
func Of(f *pb.ItemFilter, named []*catalogue.Filter) catalogue.Filter {
	all := catalogue.Filter{
		AnyCategories: f.GetAnyCategories(), AllCategories: f.GetAllCategories(),
		NoCategories: f.GetNoCategories(), AnyLabels: f.GetAnyLabels(),
		AllLabels: f.GetAllLabels(), NoLabels: f.GetNoLabels(), And: named,
	}
	for _, r := range f.GetRanges() {
		all.Ranges = append(all.Ranges,
			catalogue.NewRange(r.GetName(), r.Gt, r.Gte, r.Lt, r.Lte, r.GetAnyOf()))
	}
	if near := f.GetNear(); near != nil {
		all.Near = &catalogue.Circle{
			LatitudeName:  cmp.Or(near.GetLatitudeNumber(), "latitude"),
			LongitudeName: cmp.Or(near.GetLongitudeNumber(), "longitude"),
			Latitude:      near.GetLatitude(),
			Longitude:     near.GetLongitude(),
			RadiusKm:      near.GetRadiusKm()}
	}
	return all
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
