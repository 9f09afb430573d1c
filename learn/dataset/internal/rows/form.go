package rows

import "github.com/gsimc/gsimc/internal/event"

// MaxRowBytes is the longest row of a text file that is accepted, in bytes.
const MaxRowBytes = 1 << 20

const (
	// Stdin is the path that stands for standard input.
	Stdin = "-"
	// StdinName stands for it in errors and reports.
	StdinName = "standard input"
)

// Form is the form of files as their reader knows it. A [fault.Fault] names a field that is called
// as in the options of the packages above: Delimiter, Columns for Names, and Column.Field.
type Form struct {
	Columns [NumColumns]Column

	// Names are those of the columns of tables without a header, in their order. A column with an
	// empty name is ignored. nil: the first row has the names.
	Names []string

	Delimiter byte          // between the fields of tables; 0: it is recognised
	TimeUnit  string        // a unit that [TicksOf] knows
	Weights   event.Weights // of the types; an event of a weight of 0 or less is not left out here
}

// Column is one mapped column of the input.
type Column struct {
	Name     string // empty: not mapped
	Field    string // what a fault calls the option that names it
	Optional bool   // may be absent from the file
}

// The mapped columns, in the order of Form.Columns.
const (
	UserColumn = iota
	ItemColumn
	TimeColumn
	WeightColumn
	TypeColumn
	NumColumns
)

// table returns the form of tables.
func (f *Form) table() tableForm {
	return tableForm{delimiter: f.Delimiter, names: f.Names, wanted: f.wanted()}
}

// wanted returns the names of the columns that a file must have.
func (f *Form) wanted() (names []string) {
	for _, c := range f.Columns {
		if c.Name != "" && !c.Optional {
			names = append(names, c.Name)
		}
	}
	return names
}
