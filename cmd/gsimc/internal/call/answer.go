package call

import (
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
)

// Answer is a list as `gsimc recommend --json` and `gsimc score --json` print it.
type Answer struct {
	Items          []Item   `json:"items"`
	ID             string   `json:"recommendation_id,omitempty"`
	ModelVersion   string   `json:"model_version"`
	Arm            string   `json:"arm,omitempty"`
	Revision       uint64   `json:"user_revision"`
	Uncertainty    *float64 `json:"uncertainty,omitempty"`
	Seed           uint64   `json:"exploration_seed,omitempty"`
	Because        string   `json:"because_item_id,omitempty"`
	UnknownItemIDs []string `json:"unknown_item_ids,omitempty"`
	Excluded       []string `json:"excluded_item_ids,omitempty"` // of `gsimc score`
	Degradations   []string `json:"degradations,omitempty"`

	Explain  bool `json:"-"` // explanations were asked for
	SeenOnly bool `json:"-"` // items of the history alone were asked for
	ByNames  bool `json:"-"` // items with some categories, labels or numbers were asked for
}

// Item is an entry of a list.
type Item struct {
	ID          string       `json:"item_id"`
	Score       float64      `json:"score"`
	StdDev      *float64     `json:"score_stddev,omitempty"`
	Source      string       `json:"source"`
	Title       string       `json:"title,omitempty"`
	Explanation *Explanation `json:"explanation,omitempty"`
}

// newAnswer returns an answer with titles.
func newAnswer(r *pb.RecommendResponse, titles map[string]string) Answer {
	out := Answer{
		Items: make([]Item, 0, len(r.GetItems())), ID: r.GetRecommendationId(), Arm: r.GetArm(),
		ModelVersion: r.GetModelVersion(),
		Revision:     r.GetUserRevision(),
		Uncertainty:  r.Uncertainty, Seed: r.GetExplorationSeed(),
		Because: r.GetBecauseItemId(), UnknownItemIDs: r.GetUnknownItemIds(),
	}
	for _, item := range r.GetItems() {
		out.Items = append(out.Items, newItem(item, titles))
	}
	for _, d := range r.GetDegradations() {
		out.Degradations = append(out.Degradations, cli.EnumText(d.String(), "DEGRADATION_"))
	}
	return out
}

// newItem returns an item of a list with its title.
func newItem(item *pb.ScoredItem, titles map[string]string) Item {
	return Item{
		ID: item.GetItemId(), Score: item.GetScore(), StdDev: item.ScoreStddev,
		Title:       titles[item.GetItemId()],
		Source:      cli.EnumText(item.GetSource().String(), "RESULT_SOURCE_"),
		Explanation: newExplanation(item.GetExplanation(), titles),
	}
}

// newExplanation returns an explanation with titles; nil for nil.
func newExplanation(x *pb.Explanation, titles map[string]string) *Explanation {
	if x == nil {
		return nil
	}
	out := &Explanation{Base: x.GetBase(), Trend: x.GetTrend(), Contributions: []Contribution{},
		Remainder: x.GetRemainder(), Like: x.GetLikeItemIds()}
	if again := x.GetAgain(); again != nil {
		out.Again = &Again{Events: again.GetEvents(), Contribution: again.GetContribution(),
			Time: stampText(again.GetEventTime())}
	}
	for _, r := range x.GetRules() {
		out.Rules = append(out.Rules, Rule{r.GetName(), r.GetContribution()})
	}
	for _, c := range x.GetContributions() {
		part := Contribution{
			ID: c.GetItemId(), Title: titles[c.GetItemId()], Events: c.GetEvents(),
			Contribution: c.GetContribution(), Local: c.GetLocal(),
			Time: stampText(c.GetEventTime()),
		}
		out.Contributions = append(out.Contributions, part)
	}
	return out
}

// stampText is a time in the form of RFC 3339; empty for none.
func stampText(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return timeText(t.AsTime())
}

// print prints JSON, or a table with the columns that are not empty, the explanations, and what
// else the server said.
func (r *Answer) print(a *cli.App, titles map[string]string, asJSON bool) error {
	if asJSON {
		return a.PrintJSON(r)
	}
	if r.Because != "" {
		a.Printf("because of %s\n", named(r.Because, titles[r.Because]))
	}
	r.printTable(a)
	for i, item := range r.Items {
		if item.Explanation != nil {
			a.Printf("\n%d. %s%s\n", i+1, named(item.ID, item.Title),
				item.Explanation.like(titles))
			cli.PrintTable(a.Stdout, item.Explanation.rows(), 1)
		}
	}
	if len(r.Items) > 0 && r.Items[0].Explanation != nil {
		a.Printf("\n%s\n", explanationKey)
	}
	arm := ""
	if r.Arm != "" {
		arm = ", arm " + r.Arm
	}
	a.Printf("revision %d, model %s%s\n", r.Revision, r.ModelVersion, arm)
	if r.ID != "" {
		a.Printf("recommendation id %s\n", r.ID)
	}
	if r.Uncertainty != nil {
		a.Printf("uncertainty about the user: %.3f of that about a new one\n", *r.Uncertainty)
	}
	if r.Seed != 0 {
		a.Printf("explored with seed %d\n", r.Seed)
	}
	for _, d := range r.Degradations {
		a.Printf("note: %s\n", d)
	}
	r.printWhyEmpty(a)
	if r.Explain && len(r.Items) > 0 && !slices.ContainsFunc(r.Items,
		func(i Item) bool { return i.Explanation != nil }) {
		a.Printf("note: no explanations: only personal scores have one, and none is here\n")
	}
	if len(r.UnknownItemIDs) > 0 {
		var unknown []string
		for _, id := range r.UnknownItemIDs {
			unknown = append(unknown, named(id, titles[id]))
		}
		a.Printf("note: unknown to the model: %s\n", strings.Join(unknown, ", "))
	}
	if len(r.Excluded) > 0 {
		a.Printf("note: not to be shown: %s\n", strings.Join(r.Excluded, ", "))
	}
	return nil
}

// printWhyEmpty says why an empty list may be empty, as far as the question tells.
func (r *Answer) printWhyEmpty(a *cli.App) {
	switch {
	case len(r.Items) > 0:
	case r.SeenOnly:
		a.Printf("note: nothing to list: the history has no item that may be shown\n")
	case r.ByNames:
		a.Printf("note: perhaps no item has such a category, label or number: " +
			"gsimc items list prints those of each\n")
	}
}

// printTable prints one row for each item.
func (r *Answer) printTable(a *cli.App) {
	spread, titled := false, false
	for _, item := range r.Items {
		spread, titled = spread || item.StdDev != nil, titled || item.Title != ""
	}
	row := func(place, item, score, deviation, source, title string) []string {
		cells := []string{place, item, score}
		if spread {
			cells = append(cells, deviation)
		}
		cells = append(cells, source)
		if titled {
			cells = append(cells, title)
		}
		return cells
	}
	rows := [][]string{row("#", "item", "score", "±", "source", "title")}
	for i, item := range r.Items {
		deviation := ""
		if item.StdDev != nil {
			deviation = cli.ScoreText(*item.StdDev)
		}
		rows = append(rows, row(strconv.Itoa(i+1), item.ID, cli.ScoreText(item.Score), deviation,
			item.Source, item.Title))
	}
	right := []int{0, 2}
	if spread {
		right = append(right, 3)
	}
	cli.PrintTable(a.Stdout, rows, right...)
}

// named is an id with its title, if that is known.
func named(id, title string) string {
	if title == "" {
		return cli.IDText(id)
	}
	return cli.IDText(id) + " " + cli.Plain(title)
}
