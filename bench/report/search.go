package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gsimc/gsimc/bench/internal/result"
)

// leastRecall is what an approximate index has to find of the exact items to be counted among the
// fastest.
const leastRecall = 0.99

// searchSummary has a column for each base and a row for each contestant, of the groups with this
// top and batch. The fastest come first: of the exact peers, and of all that find enough. The
// others follow, each group of them with the one first that comes nearest to ours.
func searchSummary(f *result.File, top, batch float64) string {
	var groups []*result.Group
	header := []string{""}
	for i := range f.Groups {
		g := &f.Groups[i]
		if g.Params["top"] == top && g.Params["batch"] == batch {
			groups = append(groups, g)
			title, _, _ := strings.Cut(g.Title, ", top")
			header = append(header, title)
		}
	}
	if len(groups) == 0 {
		return ""
	}
	t := newTable(header...)
	searchRow(t, "**"+groups[0].Ours+"**, "+groups[0].Unit, groups, func(g *result.Group) string {
		ours := result.SpreadOf(g.Find(g.Ours).Samples)
		return fmt.Sprintf("%s [%s–%s]", figure(ours.Median), figure(ours.Min), figure(ours.Max))
	})
	if slices.ContainsFunc(groups, hasRecall) {
		searchRow(t, "**fastest of recall ≥ .99**", groups, fastestCell(findsEnough))
	}
	searchRow(t, "**fastest exact peer**", groups, fastestCell(isExact))
	for _, name := range hardestFirst(groups) {
		title := name
		if firstOf(groups, name).Role == result.Limit {
			title = "× of: " + name
		}
		searchRow(t, title, groups, func(g *result.Group) string { return searchCell(g, name) })
	}
	return t.String()
}

// searchRow adds a row with a cell for each group, unless there is nothing to say in any.
func searchRow(
	t *table, title string, groups []*result.Group, cell func(*result.Group) string,
) {
	row := []string{title}
	empty := true
	for _, g := range groups {
		text := cell(g)
		empty = empty && text == ""
		row = append(row, cmp.Or(text, "–"))
	}
	if !empty {
		t.row(row...)
	}
}

// searchCell says how far ours is ahead of a contestant, and the recall if that is too little.
func searchCell(g *result.Group, name string) string {
	s := g.Find(name)
	if s == nil {
		return ""
	}
	text := times(g.Advantage(s))
	if s.Recall > 0 && s.Recall < leastRecall {
		text += fmt.Sprintf(" (recall %.3f)", s.Recall)
	}
	return text
}

// fastestCell names the fastest of the contestants for which wanted is true.
func fastestCell(wanted func(*result.Series) bool) func(*result.Group) string {
	return func(g *result.Group) string {
		var fastest *result.Series
		for i := range g.Series {
			s := &g.Series[i]
			if wanted(s) && (fastest == nil || advantage(g, s) < advantage(g, fastest)) {
				fastest = s
			}
		}
		if fastest == nil {
			return ""
		}
		return "**" + times(g.Advantage(fastest)) + "** " + shortName(fastest.Name)
	}
}

func advantage(g *result.Group, s *result.Series) float64 { return g.Advantage(s).Median }

// shortName leaves out what the row of the contestant has: the instructions of its library, and the
// recall that it is tuned to.
func shortName(name string) string {
	name, _, _ = strings.Cut(name, ", recall")
	before, rest, found := strings.Cut(name, " (")
	_, after, closed := strings.Cut(rest, ")")
	if !found || !closed {
		return name
	}
	return before + after
}

// isExact reports whether a contestant is of others and finds what ours finds.
func isExact(s *result.Series) bool { return s.Role == result.Peer && !isOurs(s) }

// findsEnough reports whether a contestant of others finds as much as leastRecall, or all.
func findsEnough(s *result.Series) bool {
	return isExact(s) || s.Role == result.Approximate && s.Recall >= leastRecall
}

// hasRecall reports whether an approximate index took part that finds enough.
func hasRecall(g *result.Group) bool {
	return slices.ContainsFunc(g.Series, func(s result.Series) bool {
		return s.Role == result.Approximate && findsEnough(&s)
	})
}

// place is where the row of a contestant stands.
type place struct {
	class   int
	nearest float64 // that it comes to ours, in the groups where it is of this class
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.class, q.class), cmp.Compare(p.nearest, q.nearest))
}

// hardestFirst returns the names of all contestants but ours: those of others that find enough in
// any group, then the other ones of others, then what else is of gsimc, then the limits. In each of
// these classes the first is the one that comes nearest to ours in any group.
func hardestFirst(groups []*result.Group) []string {
	places := map[string]place{}
	var names []string
	for _, g := range groups {
		for i := range g.Series {
			s := &g.Series[i]
			if s.Name == g.Ours {
				continue
			}
			here := place{classOf(s), advantage(g, s)}
			before, known := places[s.Name]
			if !known {
				names = append(names, s.Name)
			}
			if !known || here.compare(before) < 0 {
				places[s.Name] = here
			}
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return places[a].compare(places[b]) })
	return names
}

// classOf is the place of a contestant's kind in a table.
func classOf(s *result.Series) int {
	switch {
	case findsEnough(s):
		return 0
	case s.Role == result.Approximate:
		return 1
	case s.Role != result.Limit:
		return 2
	}
	return 3
}

// firstOf is the series of that name in the first group that has it.
func firstOf(groups []*result.Group, name string) *result.Series {
	for _, g := range groups {
		if s := g.Find(name); s != nil {
			return s
		}
	}
	return &result.Series{}
}

// searchChecks is checksTable of all groups of a part: a line for each check, and a column for each
// group that has checks.
func searchChecks(f *result.File) string {
	type key struct {
		name  string
		again int // the same name comes once more in a group
	}
	var keys []key
	texts := map[key]map[string]string{} // by the title of the group
	header := []string{"check"}
	for _, g := range f.Groups {
		if len(g.Checks) == 0 {
			continue
		}
		header = append(header, g.Title)
		seen := map[string]int{}
		for _, c := range g.Checks {
			k := key{c.Name, seen[c.Name]}
			seen[c.Name]++
			if texts[k] == nil {
				texts[k] = map[string]string{}
				keys = append(keys, k)
			}
			texts[k][g.Title] = checkText(c)
		}
	}
	t := newTable(header...)
	for _, k := range keys {
		row := []string{k.name}
		for _, title := range header[1:] {
			row = append(row, cmp.Or(texts[k][title], "–"))
		}
		t.row(row...)
	}
	return t.String()
}
