package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gsimc/gsimc/client"
	"github.com/gsimc/gsimc/internal/fault"
)

// percent is a share, written as 70%.
type percent float64

// UnmarshalText reads a percentage above 0 with its sign.
func (p *percent) UnmarshalText(text []byte) error {
	digits, ok := strings.CutSuffix(string(text), "%")
	x, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil || !(x > 0) || math.IsInf(x, 0) {
		return fmt.Errorf("%q is not a percentage above 0, such as 70%%", text)
	}
	*p = percent(x / 100)
	return nil
}

// given returns the value of an optional flag, or another value in its place.
func given[T any](flag *T, otherwise T) T {
	if flag == nil {
		return otherwise
	}
	return *flag
}

// refuse returns the fault of a flag with what is wrong.
func refuse(flag, format string, args ...any) error {
	return &fault.Fault{Field: flag, Problem: fmt.Sprintf(format, args...)}
}

// inRange returns a fault unless low <= x <= high.
func inRange(flag string, x, low, high float64) error {
	if x >= low && x <= high {
		return nil
	}
	return fault.New(flag, x, fmt.Sprintf("%v to %v", low, high))
}

// atLeast returns a fault unless d >= low.
func atLeast(flag string, d, low time.Duration) error {
	if d >= low {
		return nil
	}
	return fault.New(flag, d, "at least "+low.String())
}

// writable finds out before the work, not after it, that a file cannot be written.
func writable(flag, path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return refuse(flag, "%s is a directory", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".load-probe-*")
	if e := new(fs.PathError); errors.As(err, &e) {
		return &fault.Fault{Field: flag,
			Problem: "cannot write to the folder " + filepath.Dir(path) + ":", Err: e.Err}
	}
	if err != nil {
		return &fault.Fault{Field: flag, Err: err}
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// flagOf returns the flag for a field of package client; the faults of this program name flags.
func flagOf(field string) string {
	if strings.HasPrefix(field, "--") {
		return field
	}
	return client.FlagOf(field)
}
