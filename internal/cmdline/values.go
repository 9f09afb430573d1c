// Package cmdline is what the command lines of gsimc and of the programs beside it do alike. The
// library for flags names types of Go and its own tokens when it refuses a value.
package cmdline

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// Values are the options of a parser whose flags refuse wrong numbers and durations by saying what
// is wanted. A duration may be in days. A value may begin with a hyphen: --value -1.
func Values() []kong.Option {
	all := []kong.Option{kong.WithHyphenPrefixedParameters(true),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(duration))}
	for kind := reflect.Int; kind <= reflect.Float64; kind++ {
		all = append(all, kong.KindMapper(kind, kong.MapperFunc(number)))
	}
	return all
}

// number reads flags of all kinds of numbers.
func number(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("number", &text); err != nil {
		return err
	}
	want, bits := "a whole number, such as 1000", target.Type().Bits()
	var err error
	switch {
	case target.CanInt():
		var n int64
		n, err = strconv.ParseInt(text, 0, bits)
		target.SetInt(n)
	case target.CanUint():
		var n uint64
		n, err = strconv.ParseUint(text, 0, bits)
		want = "a whole number of 0 or more"
		target.SetUint(n)
	default:
		var x float64
		x, err = strconv.ParseFloat(text, bits)
		want = "a number, such as 0.5"
		target.SetFloat(x)
	}
	if errors.Is(err, strconv.ErrRange) {
		want = "a number nearer to 0"
	}
	if err != nil {
		return fmt.Errorf("%q, want %s", text, want)
	}
	return nil
}

// duration reads a duration as Go writes it, or whole days: 30d.
func duration(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("duration", &text); err != nil {
		return err
	}
	d, err := time.ParseDuration(text)
	if days, whole := strings.CutSuffix(text, "d"); whole {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		d = time.Duration(n) * 24 * time.Hour
	}
	if err != nil {
		return fmt.Errorf("%q is not a duration: want one such as 90s, 1h30m or 30d", text)
	}
	target.SetInt(int64(d))
	return nil
}
