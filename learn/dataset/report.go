package dataset

import (
	"slices"
	"strings"

	"github.com/gsimc/gsimc/learn/dataset/internal/rows"
)

// Report says what Read found.
type Report struct {
	Files []FileReport // one for each file, in order

	Rows           int64    // rows read, bad ones included
	BadRows        int64    // rows skipped because of Options.MaxBadRows
	BadRowMessages []string // what was wrong with the first few of them
	Unliked        int64    // events left out because their weight is not above 0
	Duplicates     int64    // events dropped because their user had the item before
	Filtered       int64    // events dropped by the k-core filters
	FilteredUsers  int      // users dropped by the k-core filters
	FilteredItems  int      // items dropped by the k-core filters

	// MinUserEvents and MinItemEvents are the k-core filters that were applied, see
	// [Options.LeaveOutRare].
	MinUserEvents, MinItemEvents int

	// OrdinalTimes tells that the times are positions rather than times, so that they order the
	// histories and are then dropped: Interactions.Time is nil, and nothing can be learned of how
	// tastes fade with time. They count as positions if Options.TimeUnit leaves the unit open, all
	// of them are plain numbers, none is negative, and all of them lie in the year 1970 when they
	// are taken for seconds or are at most the number of rows. So do numbers from 1 on for each
	// user or for the whole file, years, days such as 20240131, and days, hours or minutes since
	// 1970.
	OrdinalTimes bool

	// SheetDays tells that the positions are of the size of the days since 1900 of the years 2000
	// to 2099, as which spreadsheets write times that have no format.
	SheetDays bool

	// IdleTimeUnit tells that Options.TimeUnit is a unit and no time is a number.
	IdleTimeUnit bool

	// UnusedTypeColumn is the column that looks like one of event types although
	// Options.TypeColumn is empty, such as "event_type" or "action". Empty: there is none.
	UnusedTypeColumn string

	// UnusedTimeColumn is the column that looks like one of times although the files are read as
	// having none, such as "date" or "created_at". Empty: there is none.
	UnusedTimeColumn string

	// AbsentTypes are the types of Options.EventWeights that no row has, in order.
	AbsentTypes []string

	Hash string // Interactions.Hash of the result
}

// FileReport says how one file was read.
type FileReport struct {
	Path        string `json:"path"`        // "standard input" for "-"
	Format      string `json:"format"`      // "csv", "tsv", "jsonl" or "parquet"
	Compression string `json:"compression"` // "none", "gzip" or "zstd"
	Delimiter   string `json:"delimiter"`   // between the fields of "csv" and "tsv"
	// TimeUnit is the unit in which numbers were read as times; empty: there were none.
	TimeUnit string `json:"time_unit"`
	Rows     int64  `json:"rows"` // rows read, bad ones included
}

// typeNames are names that columns of event types have in public data.
var typeNames = []string{
	"event_type", "eventtype", "event", "event_name", "action", "action_type", "type", "behavior",
	"behaviour", "behavior_type", "behaviour_type", "interaction", "interaction_type", "activity",
}

// timeNames are names that columns of times have in public data.
var timeNames = []string{
	"timestamp", "time", "date", "datetime", "date_time", "time_stamp", "ts", "created",
	"created_at", "event_time", "event_date", "eventdate", "event_timestamp", "unixtime",
	"unix_time", "unixreviewtime", "review_date", "order_date", "purchase_date",
	"timestamp_ms", "updated_at", "visited_at", "clicked_at", "played_at",
}

// unused returns the first of the columns that is not mapped and is called by one of the names;
// empty: there is none.
func (o Options) unused(columns, names []string) string {
	for _, name := range columns {
		mapped := func(c rows.Column) bool { return c.Name == name }
		used := o.columns()
		if slices.ContainsFunc(used[:], mapped) {
			continue
		}
		plain := strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(name), "-", "_"), " ", "_")
		if slices.Contains(names, plain) {
			return name
		}
	}
	return ""
}
