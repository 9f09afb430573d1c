package recommend

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"sync"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/catalogue"
)

const (
	// maxRuled is the number of models with rules that are kept for each arm. One takes up to 16
	// bytes an item.
	maxRuled = 8
	// ruleSpan is how long the ages of items stand still.
	ruleSpan = time.Minute
)

// rulebook keeps the models with rules that were asked for last, of the model that an arm serves.
type rulebook struct {
	mu   sync.Mutex
	base *model.Model // of all that follows
	unit float64      // its spread
	kept []*ruled     // the one that was used last is the first
}

// ruled is a model with rules.
type ruled struct {
	*model.Model
	of      *model.Model // without the rules
	added   []float32    // by them, to each item
	key     []byte       // of the boosts and of the time
	changes uint64       // of the catalogue
}

// spread returns the unit of the weights of boosts.
func (b *rulebook) spread(of *model.Model, est model.Estimator) float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if base := of.Base(); base != b.base {
		b.base, b.unit, b.kept = base, spreadOf(base, est), nil
	}
	return b.unit
}

// find returns the model with the rules of a key, or nil.
func (b *rulebook) find(of *model.Model, key []byte, changes uint64) *ruled {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := slices.IndexFunc(b.kept, func(r *ruled) bool {
		return r.of == of && r.changes == changes && bytes.Equal(r.key, key)
	})
	if at < 0 {
		return nil
	}
	found := b.kept[at]
	b.kept = slices.Insert(slices.Delete(b.kept, at, at+1), 0, found)
	return found
}

// keep keeps a model with rules, unless another model has come to serve.
func (b *rulebook) keep(r *ruled) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.of.Base() == b.base {
		b.kept = slices.Insert(b.kept, 0, r)
		b.kept = slices.Delete(b.kept, min(maxRuled, len(b.kept)), len(b.kept))
	}
}

// wishes are the boosts that a request wants.
type wishes interface {
	GetNamedBoosts() []string
	GetBoosts() []*pb.Boost
}

// boost lets the list be one of the model with the rules that boosts are. Lists that are not
// personal have none.
func (l *list) boost(w wishes) error {
	if len(w.GetBoosts())+len(w.GetNamedBoosts()) == 0 {
		return nil
	}
	var err error
	if l.boosts, err = l.s.boostsOf(w); err != nil || !l.Personal() {
		return err
	}
	book, now := &l.s.books[l.Arm.Index], l.now.Truncate(ruleSpan)
	unit := book.spread(l.Model, l.s.Estimator)
	key := binary.AppendVarint(nil, now.Unix())
	for at := range l.boosts {
		l.boosts[at].Weight *= unit
		key = l.boosts[at].AppendKey(key)
	}
	l.ruled = book.find(l.Model, key, l.Items.Changes())
	if l.ruled == nil {
		l.ruled = l.makeRuled(key, now)
		book.keep(l.ruled)
	}
	l.Model, l.out.Items = l.ruled.Model, l.ruled.Model
	return nil
}

// boostsOf returns those with names, and then the others, with weights in spreads.
func (s *Service) boostsOf(w wishes) (boosts []catalogue.Boost, err error) {
	named, err := s.Filters.FindBoosts(nil, w.GetNamedBoosts())
	if err != nil {
		return nil, err
	}
	for _, b := range named {
		boosts = append(boosts, *b)
	}
	for _, b := range w.GetBoosts() {
		and, err := s.Filters.Find(nil, b.GetFilter().GetNamedFilters())
		if err != nil {
			return nil, err
		}
		by := b.GetBy()
		boosts = append(boosts, catalogue.Boost{Name: b.GetName(), Weight: b.GetWeight(),
			Filter: catalogueFilter(b.GetFilter(), and), By: catalogue.Curve{
				Number: by.GetNumber(), Shape: catalogue.Shape(by.GetShape()),
				Origin: by.GetOrigin(), Scale: by.GetScale()}})
	}
	return boosts, nil
}

// makeRuled makes the model with the rules of l.boosts. A change of the catalogue meanwhile makes
// it one of before, which is not found again.
func (l *list) makeRuled(key []byte, now time.Time) *ruled {
	sums, changes := make([]float64, l.NumItems()), l.Items.Changes()
	for at := range l.boosts {
		l.Items.AddTo(sums, &l.boosts[at], now)
	}
	added := make([]float32, len(sums))
	for i, sum := range sums {
		added[i] = float32(sum)
	}
	return &ruled{l.WithRules(added), l.Model, added, key, changes}
}

const (
	spreadHistories = 16
	spreadPlace     = 100
)

// spreadOf is the unit of weights, since scores have none: by how much the first score of a list is
// above the hundredth, in the median over the 16 most popular items of a personal model, which has
// neither trends nor rules, as histories of one event each. It is 1 if there is no such distance.
func spreadOf(m *model.Model, est model.Estimator) float64 {
	var batch []ranking.Request
	for _, item := range m.Popular()[:min(m.NumItems(), spreadHistories)] {
		q, skip := m.NewQuery(), ranking.NewSet(m.NumItems())
		m.QueryTo(q, m.StateOf(model.History{{Item: item, Weight: 1}}), est)
		skip.Add(item)
		batch = append(batch, ranking.Request{Query: q.Spectrum, Boosts: q.Boosts, Skip: skip,
			N: spreadPlace})
	}
	m.TopNBatch(batch)
	var spreads []float64
	for _, r := range batch {
		if last := len(r.Top) - 1; last > 0 {
			spreads = append(spreads, float64(r.Top[0].Score)-float64(r.Top[last].Score))
		}
	}
	slices.Sort(spreads)
	if middle := len(spreads) / 2; len(spreads) > 0 && spreads[middle] > 0 {
		return spreads[middle]
	}
	return 1
}

// changed is the part of what rules add that is too large for roundings: the catalogue has changed
// since the model with the rules was made.
const changed = 1e-6

// rulesOf says for each of some items what each boost added to its score. The sum is what was
// added, whatever the catalogue has become since.
func (l *list) rulesOf(items []int32) [][]*pb.RuleContribution {
	all, now := make([][]*pb.RuleContribution, len(items)), l.now.Truncate(ruleSpan)
	for at := range l.boosts {
		gains := l.Items.GainsOf(items, &l.boosts[at], now)
		for i := range items {
			all[i] = append(all[i], &pb.RuleContribution{Name: l.boosts[at].Name,
				Contribution: gains[i]})
		}
	}
	for i, rules := range all {
		missing, size := 0.0, 0.0
		if l.ruled != nil {
			missing = float64(l.ruled.added[items[i]])
		}
		for _, r := range rules {
			missing -= r.GetContribution()
			size += math.Abs(r.GetContribution())
		}
		if math.Abs(missing) > changed*size {
			rules[len(rules)-1].Contribution += missing
		}
	}
	return all
}
