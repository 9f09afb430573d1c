package rows

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/gsimc/gsimc/internal/fault"
)

// Times outside the years 0 to 9999 are refused: nearly always they are numbers in another unit,
// which would make every half-life wrong by a factor of a thousand without a word.
var (
	MinTime = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	MaxTime = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).Unix()
)

// ticksOf has the ticks per second of each unit, 0: recognised.
var ticksOf = map[string]int64{"": 0, "auto": 0, "s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}

// TicksOf returns the ticks per second of a unit: "s", "ms", "us" or "ns". 0 stands for a unit that
// is recognised: "auto" or "". known is false for other names.
func TicksOf(unit string) (ticks int64, known bool) {
	ticks, known = ticksOf[unit]
	return ticks, known
}

// UnitName returns the name of the unit with that many ticks per second, empty for 0.
func UnitName(ticks int64) string {
	for name, t := range ticksOf {
		if t == ticks && t > 0 {
			return name
		}
	}
	return ""
}

// A recognised unit other than seconds gives times of the years 1991 to 2199. Numbers of another
// unit, dates written as 20240131120000 and the 100 ns of Windows come to lie outside of them.
var (
	minRecognised = time.Date(1991, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	maxRecognised = time.Date(2199, 12, 31, 23, 59, 59, 0, time.UTC).Unix()
)

// A TimeRangeError is the refusal of a number that is no time in its unit.
type TimeRangeError struct {
	value      string // as it stands in the file, quoted
	ticks      int64
	recognised bool
	other      int64 // ticks of the unit in which it is a time; 0: none
	seconds    int64 // in that unit
}

// Unit returns the name of the unit.
func (e *TimeRangeError) Unit() string { return UnitName(e.ticks) }

// Mixed reports whether the number is a time in another unit.
func (e *TimeRangeError) Mixed() bool { return e.other != 0 }

// Error implements error.
func (e *TimeRangeError) Error() string {
	text, years := "time %s in the unit %s is outside the years %s", "0 to 9999"
	if e.recognised {
		text, years = "time %s in the recognised unit %s is outside the years %s", "1991 to 2199"
	}
	text = fmt.Sprintf(text, e.value, UnitName(e.ticks), years)
	if e.Mixed() {
		day := time.Unix(e.seconds, 0).UTC().Format(time.DateOnly)
		text += fmt.Sprintf(" and is %s in the unit %s: the file mixes units, write one", day,
			UnitName(e.other))
	}
	return text
}

// A clock reads the times of one file. It is shared by goroutines, which do not change it.
type clock struct {
	ticks  int64      // per second, of numbers
	sample *magnitude // not nil: numbers are taken up by it, and any number is good
	narrow bool       // the unit was recognised and is not the second: see minRecognised
}

// clockOf is a clock of a unit that is given, in ticks per second, or of the unit that a sample
// has. It refuses a given one that misreads the sample.
func clockOf(given int64, m *magnitude) (clock, error) {
	ticks := m.ticks()
	if given == 0 {
		return clock{ticks: ticks, narrow: ticks != 1}, nil
	}
	if given != ticks && m.count[m.most()] > 0 && m.plausible() {
		want := UnitName(ticks) + ", which puts them " + m.between(ticks)
		if given > ticks { // days of 1970, or days since a start of the log's own
			want += "; write times that do not count from 1970 in seconds"
		}
		return clock{}, &fault.Fault{Field: "TimeUnit", Want: want,
			Problem: UnitName(given) + " puts the first times " + m.between(given)}
	}
	return clock{ticks: given}, nil
}

// accepts tells whether a number that comes to some seconds is a time. 0 often stands for none.
func (c *clock) accepts(seconds float64) bool {
	low, high := MinTime, MaxTime
	if c.narrow && seconds != 0 {
		low, high = minRecognised, maxRecognised
	}
	return seconds >= float64(low) && seconds <= float64(high)
}

// outside is the refusal of a number.
func (c *clock) outside(b []byte) error {
	e := &TimeRangeError{value: Quote(b), ticks: c.ticks, recognised: c.narrow}
	x, _ := strconv.ParseFloat(string(b), 64)
	var m magnitude
	if m.add(x); m.ticks() != c.ticks && m.plausible() {
		e.other, e.seconds = m.ticks(), int64(x)/m.ticks()
	}
	return e
}

// read returns a time in seconds since 1970: a number, or a date as parseDate takes it. dated tells
// that it was a date.
func (c *clock) read(b []byte) (seconds int64, dated bool, err error) {
	if t, ok := parseInt(b); ok {
		if c.ticks == 1 && t >= MinTime && t <= MaxTime {
			return t, false, nil
		}
		seconds, err = c.whole(t, b)
		return seconds, false, err
	}
	if len(b) == 0 {
		return 0, false, reason("empty time, want a number, a date or RFC 3339")
	}
	if t, ok := parseDate(b); ok {
		seconds, err = checkTime(t, b)
		return seconds, true, err
	}
	if x, err := strconv.ParseFloat(string(b), 64); err == nil || math.IsInf(x, 0) {
		seconds, err = c.decimal(x, b)
		return seconds, false, err
	}
	advice := ""
	if b[0] >= '0' && b[0] <= '9' && bytes.ContainsAny(b, "/.") {
		advice = "; a spreadsheet writes such dates in the format yyyy-mm-dd hh:mm:ss"
	}
	return 0, false, Refusef("bad time %s, want a number, a date such as 2024-05-31 12:00:00, "+
		"or RFC 3339%s", Quote(b), advice)
}

// whole returns the seconds of a whole number; b is the value as it stands in the file.
func (c *clock) whole(t int64, b []byte) (seconds int64, err error) {
	if c.ticks == 1 {
		if t < MinTime || t > MaxTime {
			return 0, c.outside(b)
		}
		return t, nil
	}
	if c.sample != nil {
		c.sample.add(float64(t))
		return 0, nil
	}
	if t /= c.ticks; !c.accepts(float64(t)) {
		return 0, c.outside(b)
	}
	return t, nil
}

// decimal is whole for a decimal number, which is truncated towards zero.
func (c *clock) decimal(x float64, b []byte) (seconds int64, err error) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, Refusef("bad time %s, want a finite number", Quote(b))
	}
	if c.sample != nil {
		c.sample.add(x)
		return 0, nil
	}
	if x /= float64(c.ticks); !c.accepts(x) {
		return 0, c.outside(b)
	}
	return int64(x), nil
}

// checkTime returns t, or why it is out of range.
func checkTime(t int64, b []byte) (seconds int64, err error) {
	if t < MinTime || t > MaxTime {
		return 0, Refusef("time %s is outside the years 0 to 9999", Quote(b))
	}
	return t, nil
}

// ReadTime returns a time in seconds since 1970: of a number of seconds, or of a date as parseDate
// takes it.
func ReadTime(b []byte) (seconds int64, err error) {
	c := clock{ticks: 1}
	seconds, _, err = c.read(b)
	return seconds, err
}

// A magnitude recognises the unit of numbers since 1970. From 1973 to 2262 the units do not
// overlap: seconds are below 1e11, milliseconds below 1e14, microseconds below 1e17.
type magnitude struct {
	count     [4]int     // by unit
	low, high [4]float64 // of the numbers of a unit
}

func (m *magnitude) add(x float64) {
	unit := 3
	switch size := math.Abs(x); {
	case size == 0 || size > math.MaxInt64: // says nothing, or is no time in any unit
		return
	case size < 1e11:
		unit = 0
	case size < 1e14:
		unit = 1
	case size < 1e17:
		unit = 2
	}
	if m.count[unit] == 0 {
		m.low[unit], m.high[unit] = x, x
	}
	m.low[unit], m.high[unit] = min(m.low[unit], x), max(m.high[unit], x)
	m.count[unit]++
}

// most returns the unit that most numbers have.
func (m *magnitude) most() int {
	best := 0
	for i, n := range m.count {
		if n > m.count[best] {
			best = i
		}
	}
	return best
}

// ticks returns the ticks per second of the unit that most numbers have; 1 for none.
func (m *magnitude) ticks() int64 { return [...]int64{1, 1e3, 1e6, 1e9}[m.most()] }

// plausible tells whether the numbers of the unit that most have are times of years in which events
// are recorded.
func (m *magnitude) plausible() bool {
	unit, ticks := m.most(), float64(m.ticks())
	return m.low[unit]/ticks >= float64(minRecognised) &&
		m.high[unit]/ticks <= float64(maxRecognised)
}

// between writes the first and the last day of these numbers in a unit. Numbers that are plausible
// in one lie beyond the year 9999 in a longer one, all of them.
func (m *magnitude) between(ticks int64) string {
	if m.low[m.most()]/float64(ticks) > float64(MaxTime) {
		return "after the year 9999"
	}
	day := func(x float64) string {
		return time.Unix(int64(x)/ticks, 0).UTC().Format(time.DateOnly)
	}
	return "between " + day(m.low[m.most()]) + " and " + day(m.high[m.most()])
}

// parseDate reads a date, 2024-05-31, alone or with a time of day after a T or a space, 12:00,
// 12:00:00 or 12:00:00.123, and that with or without an offset, Z, UTC, +02, +0200 or +02:00, after
// a space or not. Without an offset it is UTC. It returns seconds since 1970, without fractions.
func parseDate(b []byte) (seconds int64, ok bool) {
	if len(b) < 10 || b[4] != '-' || b[7] != '-' {
		return 0, false
	}
	year, ok1 := digits(b[:4])
	month, ok2 := digits(b[5:7])
	day, ok3 := digits(b[8:10])
	if !ok1 || !ok2 || !ok3 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return 0, false
	}
	seconds = time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Unix()
	if b = b[10:]; len(b) == 0 {
		return seconds, true
	}
	if b[0] != 'T' && b[0] != 't' && b[0] != ' ' {
		return 0, false
	}
	ofDay, rest, ok := parseTimeOfDay(b[1:])
	if !ok {
		return 0, false
	}
	offset, ok := parseOffset(rest)
	return seconds + ofDay - offset, ok
}

func daysIn(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// digits reads a number that is nothing but digits.
func digits(b []byte) (x int, ok bool) {
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		x = 10*x + int(c-'0')
	}
	return x, len(b) > 0
}

// parseTimeOfDay reads hours, minutes and, if there are some, seconds, and returns what follows.
func parseTimeOfDay(b []byte) (seconds int64, rest []byte, ok bool) {
	if len(b) < 5 || b[2] != ':' {
		return 0, nil, false
	}
	hour, ok1 := digits(b[:2])
	minute, ok2 := digits(b[3:5])
	if !ok1 || !ok2 || hour > 23 || minute > 59 {
		return 0, nil, false
	}
	seconds, b = int64(hour*3600+minute*60), b[5:]
	if len(b) == 0 || b[0] != ':' {
		return seconds, b, true
	}
	if len(b) < 3 {
		return 0, nil, false
	}
	second, ok := digits(b[1:3])
	if !ok || second > 59 {
		return 0, nil, false
	}
	seconds, b = seconds+int64(second), b[3:]
	if len(b) > 0 && (b[0] == '.' || b[0] == ',') {
		n := 1
		for n < len(b) && b[n] >= '0' && b[n] <= '9' {
			n++
		}
		if n == 1 {
			return 0, nil, false
		}
		b = b[n:]
	}
	return seconds, b, true
}

// parseOffset reads the seconds by which a place is ahead of UTC.
func parseOffset(b []byte) (seconds int64, ok bool) {
	if len(b) > 1 && b[0] == ' ' {
		b = b[1:]
	}
	switch s := string(b); {
	case s == "", s == "Z", s == "z", s == "UTC", s == "GMT":
		return 0, true
	case s[0] != '+' && s[0] != '-',
		len(s) != 3 && len(s) != 5 && len(s) != 6,
		len(s) == 6 && s[3] != ':':
		return 0, false
	}
	hour, ok1 := digits(b[1:3])
	minute, ok2 := 0, true
	if len(b) > 3 {
		minute, ok2 = digits(b[len(b)-2:])
	}
	if !ok1 || !ok2 || hour > 23 || minute > 59 {
		return 0, false
	}
	seconds = int64(hour*3600 + minute*60)
	if b[0] == '-' {
		seconds = -seconds
	}
	return seconds, true
}
