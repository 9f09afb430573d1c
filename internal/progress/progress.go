// Package progress shows how far a long command has come: a bar with the time left on a terminal, and a line every
// five seconds where the output is a file or a log. A command goes through stages one after the other; a stage counts
// bytes, rows or steps.
package progress

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/term"
)

// Unit is what a stage counts.
type Unit string

// The units.
const (
	Bytes Unit = "bytes"
	Rows  Unit = "rows"
	Steps Unit = "steps"
)

// Progress is told about the stages of a command. Its methods may be called from several goroutines.
type Progress interface {
	// Begin starts a stage and ends the one before.
	Begin(stage string, unit Unit)
	// Update says that done of total units are through; a total of 0 or less means that it is not known. Cheap enough
	// for every thousand rows. Without a stage, or with less than was shown before, it does nothing.
	Update(done, total int64)
	// End ends the last stage. To be called before anything else is written to the same output.
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
		return &bars{out: w}
	}
	return &lines{out: w, now: time.Now}
}

// track keeps a stage from running backwards: what is to be done is sometimes more than was thought, and updates of several
// goroutines overtake each other.
type track struct{ done, total int64 }

// forward returns the further of what was shown before and what is new.
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

type none struct{}

func (none) Begin(string, Unit)  {}
func (none) Update(int64, int64) {}
func (none) End()                {}

// lines writes one line per interval. A stage shorter than that leaves no trace.
type lines struct {
	out io.Writer
	now func() time.Time

	mu          sync.Mutex
	stage       string
	unit        Unit
	begin, last time.Time
	shown       track
}

func (l *lines) Begin(stage string, unit Unit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stage, l.unit, l.begin = stage, unit, l.now()
	l.last, l.shown = l.begin, track{}
}

func (l *lines) Update(done, total int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	done, total = l.shown.forward(done, total)
	now := l.now()
	if l.stage == "" || now.Sub(l.last) < interval {
		return
	}
	l.last = now
	fmt.Fprintf(l.out, "%s: %s", l.stage, count(done, l.unit))
	if total > 0 {
		fmt.Fprintf(l.out, " of %s (%d%%)", count(total, l.unit), 100*done/total)
	}
	fmt.Fprintf(l.out, ", %s", now.Sub(l.begin).Round(time.Second))
	if left, ok := remaining(now.Sub(l.begin), done, total); ok {
		fmt.Fprintf(l.out, ", about %s left", left)
	}
	fmt.Fprintln(l.out)
}

func (l *lines) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stage = ""
}

// remaining extrapolates the mean speed so far.
func remaining(spent time.Duration, done, total int64) (time.Duration, bool) {
	if done <= 0 || total < done {
		return 0, false
	}
	left := time.Duration(float64(spent) * float64(total-done) / float64(done))
	return left.Round(time.Second), true
}

// count formats a number of units: bytes in powers of 1024, the others as they are.
func count(n int64, unit Unit) string {
	if unit != Bytes {
		return strconv.FormatInt(n, 10) + " " + string(unit)
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
