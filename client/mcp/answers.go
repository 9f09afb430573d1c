package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// item is what the catalogue says of an item: its id alone, if it says nothing.
type item struct {
	ID         string   `json:"item_id"`
	Title      string   `json:"title,omitempty"`
	Categories []string `json:"categories,omitempty"`
}

// String returns how sentences name the item.
func (i item) String() string {
	if i.Title == "" {
		return i.ID
	}
	return fmt.Sprintf("%s (%s)", i.Title, i.ID)
}

func itemOf(k *pb.KnownItem) item {
	return item{k.Item.ItemId, k.Item.Title, k.Item.Categories}
}

// list is a list of items with scores, or the scores of given items.
type list struct {
	Because  *item    `json:"because_of,omitempty" jsonschema:"The item that a list because of an item is about."`
	Items    []scored `json:"items"`
	Notes    []string `json:"notes,omitempty" jsonschema:"Why the list is short, not personal or empty."`
	Unknown  []string `json:"unknown_item_ids,omitempty" jsonschema:"Ids that the model does not know."`
	Excluded []string `json:"excluded_item_ids,omitempty" jsonschema:"Ids that are never shown: hidden, or not available now."`
	Model    string   `json:"model_version"`
}

// scored is an item with its score. The parts of why add up to the score.
type scored struct {
	item
	Score  float64  `json:"score"`
	Stddev *float64 `json:"score_stddev,omitempty" jsonschema:"How far the score may be wrong."`
	Source string   `json:"source" jsonschema:"personalized, popular, similar, trending ..."`
	Why    *why     `json:"why,omitempty"`
}

// why is a score, taken apart.
type why struct {
	Base     float64 `json:"base" jsonschema:"What the item would have without any event of the user."`
	Trend    float64 `json:"trend,omitempty" jsonschema:"What its trend added."`
	Again    *again  `json:"again,omitempty"`
	Because  []cause `json:"because" jsonschema:"Items of the history that contributed most, largest first."`
	Others   float64 `json:"others" jsonschema:"What all other events added together."`
	Borrowed []item  `json:"like,omitempty" jsonschema:"The item is new: it borrowed its score from these."`
}

// again is what was added because the user had the item before.
type again struct {
	Times int32   `json:"times"`
	Added float64 `json:"added"`
}

// cause is what the events on one item of the history added.
type cause struct {
	item
	Events int32   `json:"events"`
	Added  float64 `json:"added"`
	Local  float64 `json:"follows,omitempty" jsonschema:"The part of it that comes from how often one follows the other."`
}

// String has a line for each item, and one for each note.
func (l *list) String() string {
	var b strings.Builder
	if l.Because != nil {
		fmt.Fprintf(&b, "Because of %s:\n", l.Because)
	}
	for n, i := range l.Items {
		fmt.Fprintf(&b, "%d. %s\n", n+1, i)
	}
	if len(l.Items) == 0 {
		b.WriteString("There are no items.\n")
	}
	for _, note := range l.Notes {
		b.WriteString(note + "\n")
	}
	if len(l.Unknown) > 0 {
		fmt.Fprintf(&b, "The model does not know %s.\n", quoted(l.Unknown))
	}
	if len(l.Excluded) > 0 {
		fmt.Fprintf(&b, "Never shown now: %s.\n", quoted(l.Excluded))
	}
	return b.String()
}

// String says the score and what it is made of, in one or two sentences.
func (s scored) String() string {
	if s.Why == nil {
		return fmt.Sprintf("%s: %.3g, %s.", s.item, s.Score, s.Source)
	}
	w := s.Why
	parts := []string{fmt.Sprintf("%.3g for anybody", w.Base)}
	for _, c := range w.Because {
		parts = append(parts, c.String())
	}
	if w.Again != nil {
		parts = append(parts, fmt.Sprintf("%+.3g for having had it %s", w.Again.Added,
			times(w.Again.Times)))
	}
	if w.Trend != 0 {
		parts = append(parts, fmt.Sprintf("%+.3g for its trend", w.Trend))
	}
	if w.Others != 0 {
		parts = append(parts, fmt.Sprintf("%+.3g for all other events", w.Others))
	}
	text := fmt.Sprintf("%s: %.3g = %s.", s.item, s.Score, strings.Join(parts, ", "))
	if len(w.Borrowed) > 0 {
		text += fmt.Sprintf(" It is new, and like %s.", join(w.Borrowed))
	}
	return text
}

func (c cause) String() string {
	text := fmt.Sprintf("%+.3g for %s", c.Added, c.item)
	if c.Events > 1 {
		text += ", " + times(c.Events)
	}
	if c.Local != 0 {
		text += fmt.Sprintf(" (%+.3g of it as what follows it)", c.Local)
	}
	return text
}

// quoted returns ids as "a" "b".
func quoted(ids []string) string { return strings.Trim(fmt.Sprintf("%q", ids), "[]") }

func times(n int32) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func join(items []item) string {
	names := make([]string, len(items))
	for n, i := range items {
		names[n] = i.String()
	}
	return strings.Join(names, ", ")
}

// notes are sentences for degradations.
var notes = map[pb.Degradation]string{
	pb.Degradation_DEGRADATION_UNKNOWN_USER: "Nothing is known of this user: the list is " +
		"not personal.",
	pb.Degradation_DEGRADATION_NO_USABLE_HISTORY: "The history says nothing that this list " +
		"could be made of: it is not personal.",
	pb.Degradation_DEGRADATION_FILTER_TOO_NARROW: "Fewer items than asked for pass the filters.",
	pb.Degradation_DEGRADATION_NO_MODEL: "The server has no model yet: popular items, the " +
		"same for all.",
	pb.Degradation_DEGRADATION_NO_TRENDS:     "The server has no trends yet.",
	pb.Degradation_DEGRADATION_SHARE_NOT_MET: "There are fewer items of a set than wanted.",
}

// answer is what lists of all kinds have.
type answer interface {
	GetItems() []*pb.ScoredItem
	GetModelVersion() string
	GetUnknownItemIds() []string
	GetDegradations() []pb.Degradation
}

// list adds to an answer what the catalogue has of its items.
func (t *tools) list(ctx context.Context, a answer) (*list, error) {
	ids := make(map[string]bool)
	for _, i := range a.GetItems() {
		ids[i.ItemId] = true
		for _, c := range i.GetExplanation().GetContributions() {
			ids[c.ItemId] = true
		}
		for _, id := range i.GetExplanation().GetLikeItemIds() {
			ids[id] = true
		}
	}
	r, _ := a.(*pb.RecommendResponse)
	if r.GetBecauseItemId() != "" {
		ids[r.GetBecauseItemId()] = true
	}
	named, err := t.named(ctx, ids)
	if err != nil {
		return nil, err
	}
	l := &list{Items: []scored{}, Unknown: a.GetUnknownItemIds(), Model: a.GetModelVersion()}
	if r.GetBecauseItemId() != "" {
		l.Because = new(named(r.GetBecauseItemId()))
	}
	if s, ok := a.(*pb.ScoreItemsResponse); ok {
		l.Excluded = s.ExcludedItemIds
	}
	for _, i := range a.GetItems() {
		source := strings.TrimPrefix(i.Source.String(), "RESULT_SOURCE_")
		l.Items = append(l.Items, scored{named(i.ItemId), i.Score, i.ScoreStddev,
			strings.ToLower(source), whyOf(i.Explanation, named)})
	}
	for _, d := range a.GetDegradations() {
		l.Notes = append(l.Notes, cmp.Or(notes[d], d.String()))
	}
	return l, nil
}

func whyOf(e *pb.Explanation, named func(id string) item) *why {
	if e == nil {
		return nil
	}
	w := &why{Base: e.Base, Trend: e.Trend, Others: e.Remainder, Because: []cause{}}
	if e.Again != nil {
		w.Again = &again{e.Again.Events, e.Again.Contribution}
	}
	for _, c := range e.Contributions {
		w.Because = append(w.Because, cause{named(c.ItemId), c.Events, c.Contribution, c.Local})
	}
	for _, id := range e.LikeItemIds {
		w.Borrowed = append(w.Borrowed, named(id))
	}
	return w
}

// found is what a search found.
type found struct {
	Items []known `json:"items"`
}

// known is an item, and who knows it.
type known struct {
	item
	InModel bool  `json:"in_model" jsonschema:"It can be recommended."`
	Users   int64 `json:"train_users" jsonschema:"Number of training users who have it."`
}

func (f *found) String() string {
	var b strings.Builder
	for _, k := range f.Items {
		fmt.Fprintf(&b, "%s", k.item)
		if len(k.Categories) > 0 {
			fmt.Fprintf(&b, " [%s]", strings.Join(k.Categories, ", "))
		}
		if k.InModel {
			fmt.Fprintf(&b, ", %d training users\n", k.Users)
		} else {
			b.WriteString(", not known to the model\n")
		}
	}
	return cmp.Or(b.String(), "There is no such item.\n")
}

// history is what a user did.
type history struct {
	UserID string  `json:"user_id"`
	Total  int64   `json:"total" jsonschema:"Number of all events of the user."`
	Events []event `json:"events" jsonschema:"The newest first."`
}

type event struct {
	item
	Type  string  `json:"event_type"`
	Time  string  `json:"event_time"`
	Value float64 `json:"value"`
}

func (h *history) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d events of %s, the newest first:\n", len(h.Events), h.Total, h.UserID)
	for _, e := range h.Events {
		fmt.Fprintf(&b, "%s %s %s", e.Time, e.Type, e.item)
		if e.Value != 1 {
			fmt.Fprintf(&b, ", value %g", e.Value)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
