package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gsimc/gsimc/bench/internal/loadtest"
	"github.com/gsimc/gsimc/bench/internal/result"
)

// table is a Markdown table with right-aligned figures.
type table struct {
	text strings.Builder
}

func newTable(columns ...string) *table {
	t := new(table)
	t.row(columns...)
	t.text.WriteString("|---|" + strings.Repeat("--:|", len(columns)-1) + "\n")
	return t
}

func (t *table) row(cells ...string) {
	for _, c := range cells {
		t.text.WriteString("| " + strings.ReplaceAll(c, "|", "\\|") + " ")
	}
	t.text.WriteString("|\n")
}

func (t *table) String() string { return t.text.String() }

// figure writes a number with four significant digits, and commas from 10,000 on.
func figure(x float64) string {
	if math.Abs(x) < 10_000 {
		return strconv.FormatFloat(x, 'g', 4, 64)
	}
	whole := strconv.FormatFloat(math.Round(x), 'f', 0, 64)
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return whole
}

// times writes a ratio as "6.21× [6.01–6.48]".
func times(s result.Spread) string {
	return fmt.Sprintf("%s× [%s–%s]", ratio(s.Median), ratio(s.Min), ratio(s.Max))
}

func ratio(x float64) string {
	if x >= 100 {
		return figure(math.Round(x))
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

// groupTable is a table of all contestants of a group.
func groupTable(g result.Group) string {
	t := newTable("", "min", "median", "max", "gsimc is better by")
	for i := range g.Series {
		s := &g.Series[i]
		spread, better := result.SpreadOf(s.Samples), ""
		switch {
		case s.Name == g.Ours:
		case s.Role == result.Limit:
			better = "limit: better by " + times(g.Advantage(s))
		default:
			better = times(g.Advantage(s))
		}
		name := s.Name
		if s.Name == g.Ours {
			name = "**" + name + "**"
		}
		t.row(name, figure(spread.Min), figure(spread.Median), figure(spread.Max), better)
	}
	return fmt.Sprintf("%s\n", t)
}

// checksTable lists what shows that all did the same work.
func checksTable(g result.Group) string {
	if len(g.Checks) == 0 {
		return ""
	}
	t := newTable("check", "")
	for _, c := range g.Checks {
		t.row(c.Name, checkText(c))
	}
	return t.String()
}

// checkText is the text of a check, which says so if it is not as it should be.
func checkText(c result.Check) string {
	if c.Bad {
		return "**" + c.Text + "** (not as it should be)"
	}
	return c.Text
}

// runsTable lists the parts with their commands.
func runsTable(parts []*result.File) string {
	t := newTable("part", "command", "date", "s", "load before")
	for _, f := range parts {
		t.row(f.Part, "`"+f.Command+"`", f.Date.Format("2006-01-02 15:04 MST"),
			figure(math.Round(f.Seconds)), f.Machine.Load)
	}
	return t.String()
}

// seriesTable is a table of the figures of a report of load: those without an x, group by
// group.
func seriesTable(r *loadReport) string {
	t := newTable("", "min", "median", "max", "unit", "wanted")
	for _, s := range r.Series {
		if s.X != "" {
			continue
		}
		for _, p := range s.Points {
			t.row(s.Group+": "+s.Name, figure(p.Y.Min), figure(p.Y.Median), figure(p.Y.Max), s.Unit,
				wanted(&s))
		}
	}
	return t.String()
}

// wanted says what the limit of a series is and whether it is kept.
func wanted(s *loadtest.Series) string {
	met, known := s.Met()
	if !known {
		return ""
	}
	text := ""
	if s.AtMost != nil {
		text = "at most " + figure(*s.AtMost)
	}
	if s.AtLeast != nil {
		text += "at least " + figure(*s.AtLeast)
	}
	if !met {
		return text + ": **missed**"
	}
	return text + ": met"
}
