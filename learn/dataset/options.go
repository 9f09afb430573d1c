package dataset

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/learn/dataset/internal/rows"
)

const (
	// MaxRowBytes is the longest row of a text file that is accepted, in bytes.
	MaxRowBytes = rows.MaxRowBytes

	// DefaultUserColumn, DefaultItemColumn and DefaultTimeColumn are the column names where
	// Options leaves them empty.
	DefaultUserColumn = "user_id"
	DefaultItemColumn = "item_id"
	DefaultTimeColumn = "timestamp"

	// Stdin is the path that stands for [Options.Stdin].
	Stdin = rows.Stdin
	// StdinName stands for it in errors and reports.
	StdinName = rows.StdinName
)

// Options says how to read interactions. The zero value is usable.
type Options struct {
	UserColumn string // column of the user ids; empty: DefaultUserColumn
	ItemColumn string // column of the item ids; empty: DefaultItemColumn

	// TimeColumn is the column of the event times: numbers in TimeUnit, RFC 3339, or dates with
	// or without a time of day. If it is empty, DefaultTimeColumn is used when the files have it,
	// and the order of the rows when they do not. A column that is named here must exist.
	TimeColumn string

	// TimeUnit is the unit of times that are numbers: "s", "ms", "us" or "ns" since 1970. "auto"
	// and "" recognise the unit of each file by the magnitude of the first numbers, and ordinals,
	// see [Report.OrdinalTimes]. Numbers in a recognised unit other than "s" are times of the years
	// 1991 to 2199, or 0; others are faults. A given unit is a fault if the first numbers of a file
	// are times of these years in another unit, by which most of them are recognised.
	TimeUnit string

	// WeightColumn is the column of the event weights, which must be finite and greater than 0.
	// Empty: every event weighs 1.
	WeightColumn string

	// TypeColumn is the column of the event types, spelled as [event.TypePattern] says; capital
	// letters count as small ones, and an empty field is [event.DefaultType]. Empty: the rows have
	// no types.
	TypeColumn string

	// EventWeights are the weights of the types. They need TypeColumn. An event weighs
	// EventWeights.Of(type, weight of WeightColumn); below or at 0 it is left out and counted in
	// Report.Unliked.
	EventWeights event.Weights

	// Columns names the columns of CSV files without a header, in their order. A column with an
	// empty name is ignored. Empty: the first row is the header. Files of other formats name
	// their columns themselves.
	Columns []string

	// Delimiter separates the fields of CSV files. 0: the one of comma, tab, semicolon and bar
	// that makes the wanted columns of the first row.
	Delimiter byte

	// MinUserEvents and MinItemEvents are the k-core filters: users with fewer items and items
	// with fewer users are removed, again and again until none is left. 0 or 1: off.
	MinUserEvents, MinItemEvents int

	// LeaveOutRare has users and items with fewer than [RareEvents] events left out where that
	// helps, in the place of MinUserEvents and MinItemEvents, which must be 0. It helps a large
	// catalogue, many of whose items have a handful of users: they cost time, and they make the
	// graph fall into pieces. The data must have more than 2000 items, and at least 200 users and
	// 40 % of the events must be left. [Report.MinUserEvents] tells what was applied.
	LeaveOutRare bool

	// MaxBadRows is the number of bad rows that are skipped and counted; one more ends reading
	// with an error. 0: the first bad row is an error.
	MaxBadRows int64

	// Stdin is read for the path "-". It may be a stream without an end in sight: memory does not
	// grow with its bytes. nil: "-" is refused.
	Stdin io.Reader

	// Progress, if not nil, is called now and then from the reading goroutine: bytes read of the
	// files as they lie on disk, their total size or 0 if it is unknown, and rows read.
	Progress func(readBytes, totalBytes, rows int64)

	// Sorting, if not nil, is called when all rows are read. Sorting them takes about a quarter
	// as long.
	Sorting func()
}

// Validate returns a fault for every option that is out of range.
func (o Options) Validate() error {
	var faults []error
	refuse := func(f *fault.Fault) { faults = append(faults, f) }
	if o.MinUserEvents < 0 {
		refuse(fault.New("MinUserEvents", o.MinUserEvents, "0 or more"))
	}
	if o.MinItemEvents < 0 {
		refuse(fault.New("MinItemEvents", o.MinItemEvents, "0 or more"))
	}
	if o.LeaveOutRare && (o.MinUserEvents > 0 || o.MinItemEvents > 0) {
		refuse(&fault.Fault{Field: "LeaveOutRare",
			Problem: "has no effect beside MinUserEvents and MinItemEvents"})
	}
	if o.MaxBadRows < 0 {
		refuse(fault.New("MaxBadRows", o.MaxBadRows, "0 or more"))
	}
	if d := o.Delimiter; d == '"' || d == '\n' || d == '\r' || d >= 0x80 {
		refuse(fault.New("Delimiter", fmt.Sprintf("%q", d),
			"an ASCII character that is neither a quote nor the end of a line"))
	}
	if _, known := rows.TicksOf(o.TimeUnit); !known {
		refuse(fault.New("TimeUnit", o.TimeUnit, "auto, s, ms, us or ns"))
	}
	if len(o.EventWeights) > 0 && o.TypeColumn == "" {
		refuse(&fault.Fault{Field: "EventWeights", Problem: "the events have no types",
			Advice: []fault.Change{{Verb: "set", Field: "TypeColumn"}}})
	}
	faults = append(faults, o.EventWeights.Validate("EventWeights")...)
	return errors.Join(append(faults, o.checkColumns()...)...)
}

// checkColumns returns the faults of the column names.
func (o Options) checkColumns() (faults []error) {
	fields := map[string]string{} // by the column that they name
	for _, c := range o.columns() {
		if c.Name == "" {
			continue
		}
		if other, taken := fields[c.Name]; taken {
			faults = append(faults, &fault.Fault{
				Field: c.Field, Problem: fmt.Sprintf("column %q has a use already", c.Name),
				Advice: []fault.Change{
					{Verb: "change", Field: c.Field}, {Verb: "change", Field: other},
				},
			})
		}
		fields[c.Name] = c.Field
		if len(o.Columns) > 0 && !c.Optional && !slices.Contains(o.Columns, c.Name) {
			faults = append(faults, &fault.Fault{
				Field: "Columns", Got: strings.Join(o.Columns, ","),
				Problem: fmt.Sprintf("lacks the column %q", c.Name),
				Advice: []fault.Change{
					{Verb: "add it to", Field: "Columns"}, {Verb: "change", Field: c.Field},
				},
			})
		}
	}
	return faults
}

// columns returns the mapped columns with the defaults filled in.
func (o Options) columns() [rows.NumColumns]rows.Column {
	or := func(name, fallback string) string {
		if name == "" {
			return fallback
		}
		return name
	}
	return [rows.NumColumns]rows.Column{
		rows.UserColumn: {Name: or(o.UserColumn, DefaultUserColumn), Field: "UserColumn"},
		rows.ItemColumn: {Name: or(o.ItemColumn, DefaultItemColumn), Field: "ItemColumn"},
		rows.TimeColumn: {Name: or(o.TimeColumn, DefaultTimeColumn), Field: "TimeColumn",
			Optional: o.TimeColumn == "" || o.TimeColumn == DefaultTimeColumn},
		rows.WeightColumn: {Name: o.WeightColumn, Field: "WeightColumn"},
		rows.TypeColumn:   {Name: o.TypeColumn, Field: "TypeColumn"},
	}
}

// form returns the form of the files.
func (o Options) form() rows.Form {
	return rows.Form{
		Columns: o.columns(), Names: o.Columns, Delimiter: o.Delimiter, TimeUnit: o.TimeUnit,
		Weights: o.EventWeights,
	}
}
