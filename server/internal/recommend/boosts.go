package recommend

import (
	"context"
	"fmt"
	"math"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/server/internal/catalogue"
	"github.com/gsimc/gsimc/server/internal/filters"
	"github.com/gsimc/gsimc/server/internal/models"
)

// wishes are the boosts that a request wants.
type wishes interface {
	GetNamedBoosts() []string
	GetBoosts() []*pb.Boost
}

// boostsOf returns those with names, and then the others.
func (s *Service) boostsOf(w wishes) (boosts []catalogue.Boost, err error) {
	named, err := s.Filters.FindBoosts(w.GetNamedBoosts())
	if err != nil {
		return nil, err
	}
	for _, b := range named {
		boosts = append(boosts, *b)
	}
	for i, b := range w.GetBoosts() {
		and, err := s.Filters.Find(nil, b.GetFilter().GetNamedFilters(),
			fmt.Sprintf("boosts[%d].filter.named_filters", i))
		if err != nil {
			return nil, err
		}
		boosts = append(boosts, filters.BoostOf(b, and))
	}
	return boosts, nil
}

// boost lets the list be one of the model with the rules that boosts are.
func (l *list) boost(ctx context.Context, boosts []catalogue.Boost) error {
	if len(boosts) == 0 {
		return nil
	}
	r, err := l.Rule(ctx, l.Model, boosts, l.now, l.s.Estimator)
	if err != nil {
		return err
	}
	l.useRules(r)
	return nil
}

// useRules lets the list be one of a model with rules; r may be nil.
func (l *list) useRules(r *models.Ruled) {
	if r != nil {
		l.ruled, l.Model, l.out.Items = r, r.Model, r.Model
	}
}

// rankByRules selects the items that come first with their rules, of a list that is not personal.
// ordered are the items that may be on one, by falling standing.
func (l *list) rankByRules(ordered []int32) {
	c, skip := l.call, l.call.Skip
	if c.Among != nil {
		skip = skipAllBut(c.Among, skip)
	}
	if len(ordered) < l.NumItems() {
		skip = skipAllBut(ordered, skip)
	}
	l.unit = 1
	if last := min(len(ordered), models.SpreadPlace) - 1; last > 0 {
		if spread := l.standing(ordered[0]) - l.standing(ordered[last]); spread > 0 {
			l.unit = float64(spread)
		}
	}
	var (
		best   ranking.TopN
		scores [1024]float32
	)
	best.Reset(c.Top[:0], c.N)
	for at := 0; at < l.NumItems(); at += len(scores) {
		some := scores[:min(len(scores), l.NumItems()-at)]
		for i := range some {
			some[i] = l.scoreOf(int32(at + i))
		}
		best.Offer(int32(at), some, skip)
	}
	c.Top = best.Sorted()
}

// addRules says in the explanations of some items what each boost added to their scores. What the
// catalogue says otherwise now than when the rules were made is a part of the remainder.
func (l *list) addRules(items []int32) {
	if l.ruled == nil {
		return
	}
	gains, names := l.ruled.Gains(items), l.ruled.Names()
	for i, x := range l.out.Explanations {
		missing, size := l.ruled.Added(items[i]), 0.0
		for at, name := range names {
			x.Rules = append(x.Rules, &pb.RuleContribution{Name: name, Contribution: gains[at][i]})
			missing -= gains[at][i]
			size += math.Abs(gains[at][i])
		}
		if math.Abs(missing) > roundings*size {
			x.Remainder += missing
		}
	}
}

// roundings bound the part of what rules add that is lost when their sum becomes a float32.
const roundings = 0x1p-20
