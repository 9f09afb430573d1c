package dataset

import (
	"errors"
	"fmt"

	"github.com/gsimc/gsimc/fault"
)

const (
	// MaxRowBytes is the longest row of a text file that is accepted, in bytes.
	MaxRowBytes = 1 << 20

	// DefaultUserColumn, DefaultItemColumn and DefaultTimeColumn are the column
	// names used where Options leaves them empty.
	DefaultUserColumn = "user_id"
	DefaultItemColumn = "item_id"
	DefaultTimeColumn = "timestamp"
)

// Options says how to read interactions. The zero value is usable.
type Options struct {
	UserColumn string // column of the user ids; empty: DefaultUserColumn
	ItemColumn string // column of the item ids; empty: DefaultItemColumn

	// TimeColumn is the column of the event times: whole seconds, decimal
	// numbers, or RFC 3339. If it is empty, DefaultTimeColumn is used when the
	// files have it, and the order of the rows when they do not. A column that
	// is named here must exist.
	TimeColumn string

	// WeightColumn is the column of the event weights, which must be finite and
	// greater than 0. Empty: there are none and every event counts as 1.
	WeightColumn string

	// Delimiter separates the fields of CSV files. 0: a tab if the file is
	// called .tsv or its header has tabs and no commas, else a comma.
	Delimiter byte

	// MinUserEvents and MinItemEvents are the k-core filters: users with fewer
	// items and items with fewer users are removed, again and again until none
	// is left. 0 or 1: off.
	MinUserEvents, MinItemEvents int

	// MaxBadRows is how many bad rows are skipped and counted before reading
	// stops with an error. 0: the first bad row is an error.
	MaxBadRows int64

	// Progress, if not nil, is called now and then from the reading goroutine:
	// bytes read of the files as they lie on disk, their total size, and rows
	// read so far.
	Progress func(readBytes, totalBytes, rows int64)

	// Sorting, if not nil, is called when all rows are read. Sorting them takes
	// about a quarter as long.
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
	if o.MaxBadRows < 0 {
		refuse(fault.New("MaxBadRows", o.MaxBadRows, "0 or more"))
	}
	if d := o.Delimiter; d == '"' || d == '\n' || d == '\r' || d >= 0x80 {
		refuse(fault.New("Delimiter", fmt.Sprintf("%q", d), "an ASCII character that is neither a quote nor the end of a line"))
	}
	fields := map[string]string{} // by the column that they name
	for _, c := range o.columns() {
		if c.name == "" {
			continue
		}
		if other, taken := fields[c.name]; taken {
			refuse(&fault.Fault{
				Field: c.field, Problem: fmt.Sprintf("column %q has a use already", c.name),
				Advice: []fault.Change{{Verb: "change", Field: c.field}, {Verb: "change", Field: other}},
			})
		}
		fields[c.name] = c.field
	}
	return errors.Join(faults...)
}

// column is one mapped column of the input.
type column struct {
	name     string // empty: not mapped
	field    string // field of Options that names it
	optional bool   // may be absent from the file
}

// The mapped columns, in the order of Options.columns.
const (
	userColumn = iota
	itemColumn
	timeColumn
	weightColumn
	numColumns
)

// columns returns the mapped columns with the defaults filled in.
func (o Options) columns() [numColumns]column {
	or := func(name, fallback string) string {
		if name == "" {
			return fallback
		}
		return name
	}
	return [numColumns]column{
		userColumn:   {name: or(o.UserColumn, DefaultUserColumn), field: "UserColumn"},
		itemColumn:   {name: or(o.ItemColumn, DefaultItemColumn), field: "ItemColumn"},
		timeColumn:   {name: or(o.TimeColumn, DefaultTimeColumn), field: "TimeColumn", optional: o.TimeColumn == "" || o.TimeColumn == DefaultTimeColumn},
		weightColumn: {name: o.WeightColumn, field: "WeightColumn"},
	}
}

// Report says what Read found.
type Report struct {
	Files []FileReport // one for each path, in order

	Rows           int64    // rows read, bad ones included
	BadRows        int64    // rows skipped because of Options.MaxBadRows
	BadRowMessages []string // what was wrong with the first few of them
	Unliked        int64    // events that Builder left out for a weight that is not above 0
	Duplicates     int64    // events dropped because their user had the item before
	Filtered       int64    // events dropped by the k-core filters
	FilteredUsers  int      // users dropped by the k-core filters
	FilteredItems  int      // items dropped by the k-core filters

	Hash string // Interactions.Hash of the result
}

// FileReport says how one file was read.
type FileReport struct {
	Path        string
	Format      string // "csv", "tsv", "jsonl" or "parquet"
	Compression string // "none", "gzip" or "zstd"
	Rows        int64  // rows read, bad ones included
}
