package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/gsimc/gsimc/internal/fault"
)

// explainer prints errors for the users of one command.
type explainer struct {
	flag func(field string) string // the flag that sets a field of a library, or the field
	// where the value of a flag is from; empty: the command line
	sources func(flag string) (s string)
}

// text returns an error as lines, one for each joined error. Each line ends with the sources of its
// flags, unless they were given on the command line.
func (x *explainer) text(err error) string {
	var lines []string
	for _, one := range parts(err) {
		lines = append(lines, fault.Text(one, x.flag)+x.from(one))
	}
	return strings.Join(lines, "\n")
}

// from names the sources of the flags in an error: " (from GSIMC_RANK)".
func (x *explainer) from(err error) string {
	var flags []string
	for _, field := range fault.Fields(err) {
		flags = append(flags, x.flag(field))
	}
	if e := new(about); errors.As(err, &e) {
		flags = append(flags, e.flags...)
	}
	slices.Sort(flags)
	var named, plain []string
	for _, flag := range slices.Compact(flags) {
		if source := x.sources(flag); source != "" {
			named, plain = append(named, flag+" from "+source), append(plain, "from "+source)
		}
	}
	switch len(named) {
	case 0:
		return ""
	case 1:
		return " (" + plain[0] + ")"
	}
	return " (" + strings.Join(named, ", ") + ")"
}

// parts returns the errors that were joined to err, or err alone, without exit codes.
func parts(err error) []error {
	if e, ok := err.(*coded); ok { //nolint:errorlint // the outermost error only
		return parts(e.error)
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var texts []string
	for _, one := range joined.Unwrap() {
		texts = append(texts, one.Error())
	}
	if strings.Join(texts, "\n") != err.Error() {
		return []error{err} // a sentence with several causes, of fmt.Errorf
	}
	var all []error
	for _, one := range joined.Unwrap() {
		all = append(all, parts(one)...)
	}
	return all
}
