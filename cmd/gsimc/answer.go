package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/dataset"
)

// answer is a list for people and scripts.
type answer struct {
	Items          []answerItem `json:"items"`
	ModelVersion   string       `json:"model_version"`
	Revision       uint64       `json:"user_revision"`
	Uncertainty    *float64     `json:"uncertainty,omitempty"`
	Seed           uint64       `json:"exploration_seed,omitempty"`
	UnknownItemIDs []string     `json:"unknown_item_ids,omitempty"`
	Degradations   []string     `json:"degradations,omitempty"`
}

type answerItem struct {
	ID          string       `json:"item_id"`
	Score       float64      `json:"score"`
	StdDev      *float64     `json:"score_stddev,omitempty"`
	Source      string       `json:"source"`
	Title       string       `json:"title,omitempty"`
	Explanation *explanation `json:"explanation,omitempty"`
}

// explanation takes a score apart: base, contributions and remainder add up to it.
type explanation struct {
	Base          float64        `json:"base"`
	Contributions []contribution `json:"contributions"`
	Remainder     float64        `json:"remainder"`
}

type contribution struct {
	ID           string  `json:"item_id"`
	Title        string  `json:"title,omitempty"`
	Time         string  `json:"event_time,omitempty"`
	Events       int32   `json:"events"`
	Contribution float64 `json:"contribution"`
}

func newAnswer(r *pb.RecommendResponse, catalogue *dataset.Catalogue) answer {
	out := answer{
		Items: []answerItem{}, ModelVersion: r.GetModelVersion(), Revision: r.GetUserRevision(),
		Uncertainty: r.Uncertainty, Seed: r.GetExplorationSeed(), UnknownItemIDs: r.GetUnknownItemIds(),
	}
	for _, item := range r.GetItems() {
		out.Items = append(out.Items, answerItem{
			ID: item.GetItemId(), Score: item.GetScore(), StdDev: item.ScoreStddev, Title: catalogue.Title(item.GetItemId()),
			Source: enumText(item.GetSource().String(), "RESULT_SOURCE_"), Explanation: newExplanation(item.GetExplanation(), catalogue),
		})
	}
	for _, d := range r.GetDegradations() {
		out.Degradations = append(out.Degradations, enumText(d.String(), "DEGRADATION_"))
	}
	return out
}

func newExplanation(x *pb.Explanation, catalogue *dataset.Catalogue) *explanation {
	if x == nil {
		return nil
	}
	out := &explanation{Base: x.GetBase(), Contributions: []contribution{}, Remainder: x.GetRemainder()}
	for _, c := range x.GetContributions() {
		line := contribution{
			ID: c.GetItemId(), Title: catalogue.Title(c.GetItemId()), Events: c.GetEvents(), Contribution: c.GetContribution(),
		}
		if t := c.GetEventTime(); t != nil {
			line.Time = t.AsTime().Format(time.RFC3339)
		}
		out.Contributions = append(out.Contributions, line)
	}
	return out
}

// printAnswer prints a table with the columns that have something to say.
func printAnswer(a *cli.App, r answer) {
	spread, why, titled := false, false, false
	for _, item := range r.Items {
		spread, why, titled = spread || item.StdDev != nil, why || item.Explanation != nil, titled || item.Title != ""
	}
	row := func(place, item, score, deviation, source, because, title string) []string {
		cells := []string{place, item, score}
		if spread {
			cells = append(cells, deviation)
		}
		cells = append(cells, source)
		if why {
			cells = append(cells, because)
		}
		if titled {
			cells = append(cells, title)
		}
		return cells
	}
	rows := [][]string{row("#", "item", "score", "±", "source", "because of", "title")}
	for i, item := range r.Items {
		deviation := ""
		if item.StdDev != nil {
			deviation = scoreText(*item.StdDev)
		}
		rows = append(rows, row(strconv.Itoa(i+1), item.ID, scoreText(item.Score), deviation, item.Source,
			item.Explanation.String(), item.Title))
	}
	right := []int{0, 2}
	if spread {
		right = append(right, 3)
	}
	cli.PrintTable(a.Stdout, rows, right...)
	a.Printf("revision %d, model %s\n", r.Revision, r.ModelVersion)
	if r.Uncertainty != nil {
		a.Printf("uncertainty about the user: %.3f of that about a new one\n", *r.Uncertainty)
	}
	if r.Seed != 0 {
		a.Printf("explored with seed %d\n", r.Seed)
	}
	for _, d := range r.Degradations {
		a.Printf("note: %s\n", d)
	}
	if len(r.UnknownItemIDs) > 0 {
		a.Printf("note: unknown to the model: %s\n", strings.Join(r.UnknownItemIDs, ", "))
	}
}

// String lists the parts of a score: "1375666 +0.012000, 816692 -0.001000, base +0.001000".
func (x *explanation) String() string {
	if x == nil {
		return ""
	}
	var parts []string
	add := func(name string, value float64) {
		text := scoreText(value)
		if value >= 0 {
			text = "+" + text
		}
		parts = append(parts, name+" "+text)
	}
	for _, c := range x.Contributions {
		name := c.ID
		if c.Title != "" {
			name = c.Title
		}
		add(name, c.Contribution)
	}
	add("base", x.Base)
	if x.Remainder != 0 {
		add("others", x.Remainder)
	}
	return strings.Join(parts, ", ")
}

// scoreText shows a score with six digits, small ones in scientific form.
func scoreText(x float64) string {
	if x != 0 && math.Abs(x) < 1e-4 {
		return fmt.Sprintf("%.2e", x)
	}
	return fmt.Sprintf("%.6f", x)
}
