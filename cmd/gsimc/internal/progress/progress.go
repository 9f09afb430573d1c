// Package progress shows the progress of a long command: a bar on a terminal, and a line every five
// seconds where the output is a file or a log.
//
// A command goes through stages, one after the other. A stage counts bytes, rows or steps. The
// share shown belongs to the stage, the times belong to the command. The time left needs a plan of
// the stages (Progress.Plan); without one it is not shown.
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
	Steps Unit = "steps" // shown as a share only: a step means nothing to a reader
)

// Progress shows the stages of a command. Its methods may be called from several goroutines.
type Progress interface {
	// Plan announces the stages that follow, with their predicted times. It replaces an earlier
	// plan. Stages of the plan may be skipped, and other stages may come between.
	Plan(stages []Stage)

	// Begin starts a stage and ends the one before.
	Begin(stage string, unit Unit)

	// Update reports that done of total units are finished. A total of 0 or less is unknown. The
	// call is cheap enough for every thousand rows. It does nothing outside of a stage, and with a
	// smaller share than before.
	Update(done, total int64)

	// End ends the last stage. Call it before anything else is written to the same output.
	End()
}

// interval is the time between two lines on an output that is not a terminal.
const interval = 5 * time.Second

// New returns a bar if w is a terminal, else lines on w. If quiet is set, nothing is shown.
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

// state is the position of a command: its stage, and the share of the stage.
type state struct {
	now func() time.Time

	mu sync.Mutex // for what follows, and what is shown

	stage    string // "": none
	unit     Unit
	first    time.Time // the beginning of the first stage
	shown    track
	estimate estimate
}

// Plan implements [Progress].
func (s *state) Plan(stages []Stage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.estimate.set(stages)
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

// amount returns the finished part of the stage, for example "512 B of 2.0 KiB (25%)", or "" while
// it is unknown.
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

// round rounds an estimated duration to the precision that it deserves.
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

// track keeps the shown share of a stage from falling: its total may grow, and updates of several
// goroutines may overtake each other.
type track struct{ done, total int64 }

// forward returns the larger of two positions: the one shown before and the new one.
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

// lines writes one line per interval. A stage shorter than an interval writes none.
type lines struct {
	out io.Writer

	last time.Time // of the last line, or the beginning of the stage
	state
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
