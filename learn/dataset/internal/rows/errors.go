package rows

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gsimc/gsimc/internal/fault"
)

// Error is a fault in one row of a data file.
type Error struct {
	File   string // path as given by the caller
	Line   int64  // line at which the row starts, from 1; in Parquet the number of the row, from 1
	Column string // name of the column, empty if the row as a whole is wrong
	Reason string // what is wrong, with the offending value
	Err    error  // underlying error, may be nil
}

// Error returns "file:line: column c: reason".
func (e *Error) Error() string {
	if e.Column == "" {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason)
	}
	return fmt.Sprintf("%s:%d: column %s: %s", e.File, e.Line, e.Column, e.Reason)
}

// NewError returns the fault err of a row. A reason has nothing underneath.
func NewError(file string, line int64, column string, err error) *Error {
	e := &Error{File: file, Line: line, Column: column, Reason: err.Error()}
	if _, only := err.(reason); !only { //nolint:errorlint // never wrapped
		e.Err = err
	}
	return e
}

// Unwrap returns the underlying error, if there is one.
func (e *Error) Unwrap() error { return e.Err }

// ErrNoData is wrapped by the errors about input that holds no interaction at
// all, be it that the file is empty or that the filters left nothing.
var ErrNoData = errors.New("no interactions")

// An emptyError tells of a file with nothing in it. Its text is also right for a file of items.
type emptyError struct{ path string }

// Error implements error.
func (e *emptyError) Error() string { return e.path + ": the file is empty" }

// Unwrap returns [ErrNoData].
func (e *emptyError) Unwrap() error { return ErrNoData }

// missing returns the fault of a column that a file lacks; present are the columns that it has.
func (c Column) missing(present []string) *fault.Fault {
	return &fault.Fault{
		Field: c.Field, Problem: fmt.Sprintf("no column %q", c.Name),
		Want: "one of " + quoteList(present),
	}
}

// quoteList formats names for an error message, at most twenty of them.
func quoteList(names []string) string {
	const most = 20
	var b strings.Builder
	for i, name := range names {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(names)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(Quote([]byte(name)))
	}
	if b.Len() == 0 {
		return "none"
	}
	return b.String()
}

// Quote formats a value of the data for an error message and shortens it.
func Quote(value []byte) string {
	const most = 60
	if len(value) <= most {
		return fmt.Sprintf("%q", value)
	}
	return fmt.Sprintf("%q… (%d bytes)", value[:most], len(value))
}
