package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gsimc/gsimc/learn/dataset"
)

// FormFlags say how the rows of data files are read.
type FormFlags struct {
	UserColumn   string `default:"user_id" help:"Column of the user ids."`
	ItemColumn   string `default:"item_id" help:"Column of the item ids."`
	TimeColumn   string `default:"timestamp" help:"Column of the times: numbers, dates such as 2024-01-31 or 2024-01-31 10:00:00, or RFC 3339. Without this column rows count in file order."`
	TimeUnit     string `default:"auto" enum:"auto,s,ms,us,ns" help:"Unit of times that are numbers: s, ms, us or ns since 1970. auto recognises it, and positions: no fading by time is learned from these."`
	WeightColumn string `placeholder:"NAME" help:"Column of the event weights, above 0. Default: every event weighs 1."`
	TypeColumn   string `placeholder:"NAME" help:"Column of the event types, such as view or purchase; View counts as view. Default: the events have no types."`

	Columns   []string `sep:"none" placeholder:"NAMES" help:"Names of the columns of a CSV file without a header, such as user_id,item_id,timestamp. Leave the name of an unused column empty."`
	Delimiter string   `placeholder:"CHAR" help:"Character between the fields of CSV files, or tab. Default: comma, tab, semicolon or bar, recognised by the first row."`
}

// Options returns the options of the flags. An impossible delimiter is found by [FormFlags.Check].
func (f *FormFlags) Options(a *App) dataset.Options {
	opt := dataset.Options{
		UserColumn: f.UserColumn, ItemColumn: f.ItemColumn, TimeColumn: f.TimeColumn,
		TimeUnit:     f.TimeUnit,
		WeightColumn: f.WeightColumn, TypeColumn: f.TypeColumn,
	}
	if names := f.names(); names != "" {
		opt.Columns = strings.Split(names, ",") // the parser of flags drops an empty last name
	}
	switch {
	case f.Delimiter == "tab":
		opt.Delimiter = '\t'
	case len(f.Delimiter) == 1:
		opt.Delimiter = f.Delimiter[0]
	}
	if a != nil {
		opt.Stdin = a.Stdin
	}
	return opt
}

func (f *FormFlags) names() string { return strings.Join(f.Columns, ",") }

// Differing returns the flags whose values are not the defaults, with these values.
func (f *FormFlags) Differing() (flags [][2]string) {
	for _, flag := range []struct{ name, value, usual string }{
		{"user-column", f.UserColumn, dataset.DefaultUserColumn},
		{"item-column", f.ItemColumn, dataset.DefaultItemColumn},
		{"time-column", f.TimeColumn, dataset.DefaultTimeColumn},
		{"time-unit", f.TimeUnit, "auto"}, {"weight-column", f.WeightColumn, ""},
		{"columns", f.names(), ""}, {"delimiter", f.Delimiter, ""},
		{"type-column", f.TypeColumn, ""},
	} {
		if flag.value != flag.usual {
			flags = append(flags, [2]string{flag.name, flag.value})
		}
	}
	return flags
}

// Check returns the faults of opt, which is made of [FormFlags.Options], and of the flags.
func (f *FormFlags) Check(opt dataset.Options) error {
	err := opt.Validate()
	switch {
	case f.Delimiter == "::": // of MovieLens
		err = errors.Join(err, Flagf("--delimiter", "%q, want one ASCII character or tab: take : "+
			"and --columns with an empty name after each, user_id,,item_id,,timestamp",
			f.Delimiter))
	case len(f.Delimiter) > 1 && f.Delimiter != "tab":
		err = errors.Join(err, Flagf("--delimiter", "%q, want one ASCII character or tab",
			f.Delimiter))
	}
	return err
}

// DataNotes warns about data that is probably misread. ordinals says what training does when times
// are positions.
func DataNotes(w io.Writer, r *dataset.Report, ordinals string) {
	if name := r.UnusedTypeColumn; name != "" {
		fmt.Fprintf(w, "note: column %q looks like one of event types and is not used; "+
			"--type-column %s uses it\n",
			name, ShellWord(name))
	}
	if name := r.UnusedTimeColumn; name != "" {
		fmt.Fprintf(w, "note: column %q looks like one of times and is not used; "+
			"--time-column %s uses it\n",
			name, ShellWord(name))
	}
	if r.IdleTimeUnit {
		fmt.Fprintln(w, "note: --time-unit has no effect: no time is a number")
	}
	AbsentTypesNote(w, r)
	if r.SheetDays {
		fmt.Fprintf(w, "note: times look like the days of a spreadsheet: %s; give the column the "+
			"format yyyy-mm-dd hh:mm:ss\n", ordinals)
	} else if r.OrdinalTimes {
		fmt.Fprintf(w, "note: times look like positions: %s; --time-unit s takes them as seconds\n",
			ordinals)
	}
}

// AbsentTypesNote warns of weights of types that no event has.
func AbsentTypesNote(w io.Writer, r *dataset.Report) {
	if len(r.AbsentTypes) > 0 {
		fmt.Fprintf(w, "note: no event has a type %s, of which --event-weight says the weight\n",
			strings.Join(r.AbsentTypes, ", "))
	}
}

// Titles reads the titles by item from the file of --items-file; without a file there are none.
func Titles(file string) (map[string]string, error) {
	if file == "" {
		return nil, nil
	}
	titles := map[string]string{}
	err := dataset.ReadItemRows(file, dataset.ItemRowsOptions{},
		func(row dataset.ItemRow) error { titles[row.ID] = row.Title; return nil },
		func(bad *dataset.RowError) error { return bad })
	return titles, Flag("--items-file", PathError(err))
}

// ShellWord writes a word for the command line of a shell, in quotes if it needs them.
func ShellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("-_.,:/@%+=", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
