package call

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// Explanation takes a score apart: base, trend, again, contributions, remainder and rules add up to
// it.
type Explanation struct {
	Base          float64        `json:"base"`  // without any event of the user
	Trend         float64        `json:"trend"` // of the item
	Again         *Again         `json:"again,omitempty"`
	Contributions []Contribution `json:"contributions"`
	Remainder     float64        `json:"remainder"` // of all other events
	Rules         []Rule         `json:"rules,omitempty"`
	// Like are the items that a new one borrowed the score from, closest first.
	Like []string `json:"like_item_ids,omitempty"`
}

// Rule is what a boost added to a score.
type Rule struct {
	Name         string  `json:"name"`
	Contribution float64 `json:"contribution"`
}

// mostLike is the largest number of trained items that an explanation names for a new item.
const mostLike = 3

// like says which items a new one is like; empty for another one.
func (x *Explanation) like(titles map[string]string) string {
	var names []string
	for _, id := range x.Like[:min(len(x.Like), mostLike)] {
		names = append(names, named(id, titles[id]))
	}
	if len(names) == 0 {
		return ""
	}
	return ", new, like " + strings.Join(names, "; ")
}

// Again is what was added because the user had the item before.
type Again struct {
	Events       int32   `json:"events"`
	Time         string  `json:"event_time,omitempty"` // of the newest event, RFC 3339
	Contribution float64 `json:"contribution"`
}

// name says how often, and when last.
func (x *Again) name() string {
	text := fmt.Sprintf("again: %d times", x.Events)
	if x.Events == 1 {
		text = "again: once"
	}
	if x.Time != "" {
		text += ", last at " + x.Time
	}
	return text
}

// Contribution is what the events on an item of the history added to a score.
type Contribution struct {
	ID           string  `json:"item_id"`
	Title        string  `json:"title,omitempty"`
	Time         string  `json:"event_time,omitempty"` // of the newest event, RFC 3339
	Events       int32   `json:"events"`
	Contribution float64 `json:"contribution"`
	Local        float64 `json:"local"` // the part of it by the local term
}

// explanationKey is printed below explanations.
const explanationKey = "The percentages are shares of all that raises or lowers a score. " +
	"A new user, without a history, would get only what everybody likes and what is taken now."

// rows are the parts of a score with their shares, as bars: base, trend, again, contributions by
// size, remainder, rules.
func (x *Explanation) rows() [][]string {
	total := math.Abs(x.Base) + math.Abs(x.Trend) + math.Abs(x.Remainder)
	if x.Again != nil {
		total += math.Abs(x.Again.Contribution)
	}
	for _, c := range x.Contributions {
		total += math.Abs(c.Contribution)
	}
	for _, r := range x.Rules {
		total += math.Abs(r.Contribution)
	}
	rows := [][]string{part(x.Base, total, "what everybody likes")}
	if x.Trend != 0 {
		rows = append(rows, part(x.Trend, total, "what is taken more or less now than before"))
	}
	if x.Again != nil {
		rows = append(rows, part(x.Again.Contribution, total, x.Again.name()))
	}
	for _, c := range x.Contributions {
		rows = append(rows, part(c.Contribution, total, named(c.ID, c.Title)))
	}
	if x.Remainder != 0 {
		rows = append(rows, part(x.Remainder, total, "the other events"))
	}
	for _, r := range x.Rules {
		if r.Contribution != 0 {
			rule := "rule: " + cmp.Or(r.Name, "without a name")
			rows = append(rows, part(r.Contribution, total, rule))
		}
	}
	return rows
}

// barWidth is the length of the bar of 100 %.
const barWidth = 20

// part is the row of one part of a score.
func part(value, total float64, name string) []string {
	share := 0.0
	if total > 0 {
		share = math.Abs(value) / total
	}
	if value < 0 {
		name += ", lowers it"
	}
	bar := strings.Repeat("█", int(math.Round(barWidth*share)))
	return []string{bar, fmt.Sprintf("%.0f %%", 100*share), name}
}
