package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ByteSize is a number of bytes, written with a unit: 64MiB, 1GB, 4096B.
type ByteSize int64

// leastPlain is the least size that needs no unit: below it a number is one of MiB, whose unit is
// forgotten.
const leastPlain = 1 << 16

var byteUnits = []struct {
	suffix string
	bytes  int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}, {"", 1},
}

// UnmarshalText reads a size: a number of 0 or more, with or without a unit.
func (b *ByteSize) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	for _, unit := range byteUnits {
		digits, ok := strings.CutSuffix(s, unit.suffix)
		if !ok {
			continue
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if err != nil || !(x >= 0) || x*float64(unit.bytes) > math.MaxInt64/2 {
			break
		}
		if unit.suffix == "" && x > 0 && x < leastPlain {
			return fmt.Errorf("%s has no unit: want one, such as %sMiB, or %sB for bytes", s, s, s)
		}
		*b = ByteSize(x * float64(unit.bytes))
		return nil
	}
	return fmt.Errorf("%q is not a size: want a number and B, KiB, MiB, GiB, kB, MB or GB, such "+
		"as 256MiB", s)
}

// String writes the size as a flag takes it: with the largest binary unit that divides it.
func (b ByteSize) String() string {
	if b == 0 {
		return "0"
	}
	for _, unit := range []struct {
		suffix string
		bytes  ByteSize
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if b%unit.bytes == 0 {
			return strconv.FormatInt(int64(b/unit.bytes), 10) + unit.suffix
		}
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}

// BytesText formats a number of bytes in binary units for people: 1.50 GiB.
func BytesText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}

// Grouped writes a number with commas between thousands.
func Grouped(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// Counted is a number of things: 1 item, 2 items.
func Counted[N int | int32 | int64](n N, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// SecondsText formats an estimate.
func SecondsText(s float64) string {
	switch {
	case s >= 100:
		return time.Duration(math.Round(s) * 1e9).String()
	case s >= 10:
		return fmt.Sprintf("%.0fs", s)
	}
	return fmt.Sprintf("%.1fs", s)
}

// DurationText writes a duration without units that are 0: 5m instead of 5m0s.
func DurationText(d time.Duration) string {
	text := d.String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}
