// Package fault is the one form in which this module refuses a value that it was given.
//
// A library returns a [Fault] that names its own field. The command line, which knows by which flag
// the field was set, prints the same fault with that flag: [Text] takes the function from fields to
// names. Nothing ever edits the text of an error.
//
// Several faults travel together as errors.Join(a, b); context is added with [In], so that the
// names inside stay known. [errors.As] finds a *Fault in any chain.
package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// A Fault is a value that cannot be used, and what would be right.
type Fault struct {
	Field string // the field or argument, such as "Rank"; never empty
	Got   any    // the value that was given; nil: the problem says it
	// what is wrong with the value, such as "is above the number of items 20"; may be empty
	Problem string
	Want    string   // values that are right, such as "at least 1"; may be empty
	Advice  []Change // ways out that concern other fields; any one of them helps
	Err     error    // the cause; may be nil
}

// A Change is a piece of advice: what to do to which field.
type Change struct {
	Verb  string // "raise", "lower", "set", "leave out"
	Field string
	To    string // the value, where the verb has one; may be empty
}

// New returns the fault of a field whose value is not among those that are wanted.
func New(field string, got any, want string) *Fault {
	return &Fault{Field: field, Got: got, Want: want}
}

// Error returns the fault with fields under their own names:
// "Rank: 30 is above the number of items 20, want at most 20; or lower MinItemEvents".
func (f *Fault) Error() string { return f.text(ownName) }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

func (f *Fault) text(name func(string) string) string {
	var b strings.Builder
	b.WriteString(name(f.Field))
	b.WriteString(":")
	if f.Got != nil {
		fmt.Fprintf(&b, " %v", f.Got)
	}
	if f.Problem != "" {
		b.WriteString(" " + f.Problem)
	}
	if f.Err != nil {
		b.WriteString(" " + Text(f.Err, name))
	}
	if f.Want != "" {
		if f.Got != nil || f.Problem != "" || f.Err != nil {
			b.WriteString(",")
		}
		b.WriteString(" want " + f.Want)
	}
	for i, c := range f.Advice {
		switch {
		case i == 0:
			b.WriteString(": ")
		case i == len(f.Advice)-1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(c.Verb + " " + name(c.Field))
		if c.To != "" {
			b.WriteString(" " + c.To)
		}
	}
	return b.String()
}

// In adds the place where an error occurred, such as a file name. It returns nil if err is nil.
// Unlike fmt.Errorf with %w it keeps the fields of the faults inside open to [Text].
func In(place string, err error) error {
	if err == nil {
		return nil
	}
	return &placed{place, err}
}

type placed struct {
	place string
	err   error
}

func (p *placed) Error() string { return p.text(ownName) }
func (p *placed) Unwrap() error { return p.err }

func (p *placed) text(name func(string) string) string { return p.place + ": " + Text(p.err, name) }

// Text is err.Error() with the fields of faults under the names that the reader knows. Joined
// errors are separated by line feeds, as [errors.Join] does. An error that wraps a fault by other
// means than [In] or [errors.Join] keeps its own text.
func Text(err error, name func(field string) string) string {
	switch e := err.(type) { //nolint:errorlint // the tree is walked one error at a time
	case interface {
		text(func(string) string) string
	}:
		return e.text(name)
	case interface{ Unwrap() []error }:
		if !isJoin(err) {
			return err.Error()
		}
		var lines []string
		for _, one := range e.Unwrap() {
			lines = append(lines, Text(one, name))
		}
		return strings.Join(lines, "\n")
	}
	return err.Error()
}

// Fields lists the fields of all faults in the tree of err, in the order of the text, each once.
func Fields(err error) []string {
	var fields []string
	seen := map[string]bool{}
	Text(err, func(field string) string {
		if !seen[field] {
			seen[field] = true
			fields = append(fields, field)
		}
		return field
	})
	return fields
}

func ownName(field string) string { return field }

// PathError returns an error of the operating system as "path: reason", without the system call. It
// returns other errors as they are.
func PathError(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", e.Path, e.Err)
	}
	return err
}

// Cause returns the reason of an error of the operating system about a path, without path and
// system call. It returns other errors as they are.
func Cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
