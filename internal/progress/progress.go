// Package progress shows how far a long command has come: a bar on a terminal, and a line every
// five seconds where the output is a file or a log.
//
// A command goes through stages one after the other; a stage counts bytes, rows or steps. The share
// that is shown is that of the stage, the times are those of the command. The time left is told
// only by a plan, since without one nobody knows what comes after the running stage.
package progress

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// Unit is the thing that a stage counts.
type Unit string

// The units.
const (
	Bytes Unit = "bytes"
	Rows  Unit = "rows"
	Steps Unit = "steps" // of no meaning to a reader: only their share is shown
)

// Progress is told about the stages of a command. Its methods may be called from several
// goroutines.
type Progress interface {
	// Plan says which stages follow and how long they are predicted to take. It replaces an earlier
	// plan. Stages may be left out, and others come between.
	Plan(stages []Stage)

	// Begin starts a stage and ends the one before.
	Begin(stage string, unit Unit)

	// Update says that done of total units are through. A total of 0 or less is unknown. The call
	// is cheap enough for every thousand rows. Without a stage, or with less than was shown before,
	// it does nothing.
	Update(done, total int64)

	// End ends the last stage. Call it before anything else is written to the same output.
	End()
}

// interval is the time between two lines on an output that is not a terminal.
const interval = 5 * time.Second

// New returns a bar if w is a terminal, else lines on w. With quiet set nothing is shown.
func New(w io.Writer, quiet bool) Progress {
	if quiet {
		return none{}
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return &bars{out: w, state: state{now: time.Now}}
	}
	return &lines{out: w, state: state{now: time.Now}}
}

type none struct{}

func (none) Plan([]Stage)        {}
func (none) Begin(string, Unit)  {}
func (none) Update(int64, int64) {}
func (none) End()                {}

// state is the part of a command that is done.
type state struct {
	now func() time.Time

	stage    string // "": none
	unit     Unit
	first    time.Time // the beginning of the first stage
	shown    track
	estimate estimate
}

func (s *state) begin(stage string, unit Unit) {
	now := s.now()
	if s.first.IsZero() {
		s.first = now
	}
	s.stage, s.unit, s.shown = stage, unit, track{}
	s.estimate.start(stage, now)
}

func (s *state) end() {
	s.stage = ""
	s.estimate.finish(s.now())
}

// amount returns what is done of the stage, such as "512 B of 2.0 KiB (25%)", or "" if there is
// nothing to tell.
func (s *state) amount() string {
	done, total := s.shown.done, s.shown.total
	switch {
	case total <= 0 && (done <= 0 || s.unit == Steps):
		return ""
	case total <= 0:
		return strings.TrimSpace(count(done, s.unit) + " " + unitName(s.unit))
	case s.unit == Steps:
		return fmt.Sprintf("%d%%", 100*done/total)
	}
	return fmt.Sprintf("%s of %s %s(%d%%)",
		count(done, s.unit), count(total, s.unit), unitName(s.unit), 100*done/total)
}

// times returns the time since the first stage, and the time left if it is known.
func (s *state) times() string {
	now := s.now()
	text := now.Sub(s.first).Round(time.Second).String()
	share := -1.0
	if s.shown.total > 0 {
		share = float64(s.shown.done) / float64(s.shown.total)
	}
	if left, ok := s.estimate.left(share, now); ok {
		text += ", about " + round(left) + " left"
	}
	return text
}

// round returns a duration as precisely as an estimate deserves.
func round(d time.Duration) string {
	unit := time.Second
	switch {
	case d >= time.Hour:
		unit = 5 * time.Minute
	case d >= 10*time.Minute:
		unit = time.Minute
	case d >= time.Minute:
		unit = 10 * time.Second
	case d >= 20*time.Second:
		unit = 5 * time.Second
	}
	return max(d.Round(unit), time.Second).String()
}

// track keeps a stage from running backwards: the total may grow, and updates of several goroutines
// overtake each other.
type track struct{ done, total int64 }

// forward returns the further of the position shown before and the new one.
func (t *track) forward(done, total int64) (int64, int64) {
	total = max(total, 0)
	if total > 0 {
		done = min(done, total)
	}
	behind := done < t.done
	if t.total > 0 && total > 0 {
		behind = float64(done)*float64(t.total) < float64(t.done)*float64(total)
	}
	if !behind {
		*t = track{done: done, total: total}
	}
	return t.done, t.total
}

// lines writes one line per interval. A stage shorter than that leaves no trace.
type lines struct {
	out io.Writer

	mu   sync.Mutex
	last time.Time // of the last line, or the beginning of the stage
	state
}

func (l *lines) Plan(stages []Stage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.estimate.set(stages)
}

func (l *lines) Begin(stage string, unit Unit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begin(stage, unit)
	l.last = l.now()
}

func (l *lines) Update(done, total int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shown.forward(done, total)
	now := l.now()
	if l.stage == "" || now.Sub(l.last) < interval {
		return
	}
	l.last = now
	line := l.stage + ": "
	if amount := l.amount(); amount != "" {
		line += amount + ", "
	}
	fmt.Fprintln(l.out, line+l.times())
}

func (l *lines) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
}

// count formats a number of units: bytes in powers of 1024 with their unit, the others as they are.
func count(n int64, unit Unit) string {
	if unit != Bytes {
		return strconv.FormatInt(n, 10)
	}
	value, suffix := float64(n), "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if value < 1024 {
			break
		}
		value, suffix = value/1024, next
	}
	if suffix == "B" {
		return strconv.FormatInt(n, 10) + " B"
	}
	return fmt.Sprintf("%.1f %s", value, suffix)
}

// unitName is the name that follows a number of count, with a space; "" if count has it already.
func unitName(unit Unit) string {
	if unit == Bytes {
		return ""
	}
	return string(unit) + " "
}
