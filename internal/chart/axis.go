package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// leastRange is the least ratio of the ends of a logarithmic axis of values, so that noise does not
// look like a trend.
const leastRange = 4

// scale maps values to pixels.
type scale struct {
	log       bool
	low, high float64 // the ends of the axis
	from, to  float64 // their pixels
}

// equalShare is the difference of two numbers, as a share of them, that counts as rounding.
const equalShare = 1e-9

// newScale returns a scale that shows all values. values must not be empty; those of a logarithmic
// scale are above zero. room is the share of the axis that stays free at each end.
func newScale(values []float64, log bool, room float64) scale {
	low, high := slices.Min(values), slices.Max(values)
	if log {
		factor := math.Pow(high/low, room)
		factor = max(factor, 1.1, math.Sqrt(leastRange*low/high))
		return scale{log: true, low: low / factor, high: high * factor}
	}
	zero := low >= 0 && low <= high/2 // the axis begins at zero
	if high-low <= equalShare*max(math.Abs(low), math.Abs(high)) {
		low, high = low-1, high+1
	}
	margin := (high - low) * room
	s := scale{low: low - margin, high: high + margin}
	if zero {
		s.low = 0
	}
	return s
}

// at returns the pixel of x, within the axis.
func (s *scale) at(x float64) float64 {
	low, high := s.low, s.high
	if s.log {
		low, high, x = math.Log(low), math.Log(high), math.Log(max(x, s.low))
	}
	share := min(max((x-low)/(high-low), 0), 1)
	return s.from + share*(s.to-s.from)
}

// fewTicks is the number of ticks below which a logarithmic axis gets finer ones.
const fewTicks = 3

// ticks returns round values on the axis: 1, 2 and 5 of every power of ten on a logarithmic one, 1
// alone over more than four powers of ten; and 4 to 10 values on a linear one.
func (s *scale) ticks() []float64 {
	if !s.log {
		return s.linearTicks()
	}
	if s.high > 1e4*s.low {
		return s.ticksAt(1)
	}
	marks := s.ticksAt(1, 2, 5)
	if len(marks) < fewTicks {
		marks = s.ticksAt(1, 1.5, 2, 3, 4, 5, 7)
	}
	return marks
}

// ticksAt marks the digits of every power of ten.
func (s *scale) ticksAt(digits ...float64) (marks []float64) {
	for e := int(math.Floor(math.Log10(s.low))); e <= int(math.Ceil(math.Log10(s.high))); e++ {
		for _, digit := range digits {
			if x := digit * math.Pow(10, float64(e)); x >= s.low && x <= s.high {
				marks = append(marks, x)
			}
		}
	}
	return marks
}

func (s *scale) linearTicks() (marks []float64) {
	const most = 7 // steps, about
	raw := (s.high - s.low) / most
	step := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, digit := range []float64{2, 5, 10} {
		if step*digit >= raw {
			step *= digit
			break
		}
	}
	for i := math.Ceil(s.low / step); i*step <= s.high; i++ {
		marks = append(marks, i*step)
	}
	return marks
}

// number writes the value of a tick: 20000 as 20k, 0.00002 as 2·10⁻⁵.
func number(x float64) string {
	size := math.Abs(x)
	switch {
	case size >= 1e9:
		return fmt.Sprintf("%.4gG", x/1e9)
	case size >= 1e6:
		return fmt.Sprintf("%.4gM", x/1e6)
	case size >= 1e4:
		return fmt.Sprintf("%.4gk", x/1e3)
	case size >= 1e-3 || size < 1e-300:
		return strings.Replace(fmt.Sprintf("%.4g", x+0), "-", "−", 1)
	}
	digits, exponent, _ := strings.Cut(fmt.Sprintf("%.2e", x), "e")
	digits = strings.TrimSuffix(strings.TrimRight(digits, "0"), ".")
	e, _ := strconv.Atoi(exponent) // of %e
	power := "10" + superscript.Replace(strconv.Itoa(e))
	if digits == "1" {
		return power
	}
	return strings.Replace(digits, "-", "−", 1) + "·" + power
}

var superscript = strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴",
	"5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹")
