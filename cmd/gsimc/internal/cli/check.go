package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/file/atomicfile"
)

// Given returns the value of an optional flag, or another value in its place.
func Given[T any](flag *T, otherwise T) T {
	if flag == nil {
		return otherwise
	}
	return *flag
}

// InRange returns a fault unless low <= x <= high. With high = math.MaxFloat64 there is no upper
// limit.
func InRange(flag string, x, low, high float64) error {
	switch {
	case x >= low && x <= high:
		return nil
	case high == math.MaxFloat64:
		return fault.New(flag, digits(x), fmt.Sprint("at least ", digits(low)))
	}
	return fault.New(flag, digits(x), fmt.Sprint(digits(low), " to ", digits(high)))
}

// digits is a number as people write it on a command line: 1000000, not 1e+06.
func digits(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) <= 1e9 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return fmt.Sprint(x)
}

// Optional is [InRange] for a flag that may be absent.
func Optional(flag string, x *float64, low, high float64) error {
	if x == nil {
		return nil
	}
	return InRange(flag, *x, low, high)
}

// Above returns a fault unless x > low and x is finite.
func Above(flag string, x, low float64) error {
	if x > low && !math.IsInf(x, 0) {
		return nil
	}
	return fault.New(flag, x, fmt.Sprint("a number above ", low))
}

// Below returns a fault unless x < high.
func Below(flag string, x, high float64) error {
	if x < high {
		return nil
	}
	return fault.New(flag, x, fmt.Sprint("a number below ", high))
}

// Positive returns a fault unless d > 0.
func Positive(flag string, d time.Duration) error {
	if d > 0 {
		return nil
	}
	return fault.New(flag, d, "more than 0s")
}

// AtLeast returns a fault unless d >= low.
func AtLeast(flag string, d, low time.Duration) error {
	if d >= low {
		return nil
	}
	return fault.New(flag, d, "at least "+low.String())
}

// An Idle is a reason why flags of a command do nothing.
type Idle struct {
	holds  bool
	flags  []string
	reason string
	beside string // the flag that is the reason, if settings of one file are refused for it too
}

// Beside also refuses flags that stand in one file of settings with the flag that is the reason.
func (i Idle) Beside(flag string) Idle {
	i.beside = flag
	return i
}

// When is the [Idle] of flags while a condition holds. The text has names of flags and of groups of
// flags, with ", " between them. A reason is such as "without --server".
func When(holds bool, flags, reason string) Idle {
	return Idle{holds: holds, flags: strings.Split(flags, ", "), reason: reason}
}

// refuseIdle returns the faults of the flags of the command line that do nothing. Settings of files
// and of the environment may be for other commands, and stay silent but for [Idle.Beside].
func refuseIdle(ctx *kong.Context, s *settings, table []Idle) (err error) {
	told := map[*kong.Flag]bool{}
	for _, on := range ctx.Path {
		if on.Flag == nil || told[on.Flag] {
			continue // no flag, or one that was given twice
		}
		told[on.Flag] = true
		at := slices.IndexFunc(table, func(i Idle) bool {
			counts := !on.Resolved || // on the command line
				s.fromFile(on.Flag.Name) && s.fromFile(i.beside)
			return counts && i.holds && (slices.Contains(i.flags, on.Flag.Name) ||
				on.Flag.Group != nil && slices.Contains(i.flags, on.Flag.Group.Key))
		})
		if at >= 0 {
			err = errors.Join(err, Flagf("--"+on.Flag.Name, "has no effect %s: leave it out",
				table[at].reason))
		}
	}
	return err
}

// Writable finds out before the work, not after it, that the file of a flag such as "--out" cannot
// be written.
func Writable(flag, path string) error {
	dir, err := probe(path)
	switch {
	case errors.Is(err, errIsDir):
		return Usage(Flagf(flag, "%s is a directory", path))
	case errors.Is(err, atomicfile.ErrSpecial):
		return Usage(Flagf(flag, "%s %v: give the name of a file", path, err))
	case err != nil:
		return &fault.Fault{Field: flag, Problem: "cannot write to the folder " + dir + ":",
			Err: fmt.Errorf("%w: make it, or choose another", err)}
	}
	return nil
}
