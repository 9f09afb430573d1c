package evaluate

import (
	"errors"
	"fmt"
	"math"

	"github.com/gsimc/gsimc/learn/train"

	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/evaluate/internal/regression"
	"github.com/gsimc/gsimc/learn/evaluate/internal/symmetric"
)

// The grids of the constants. λ weighs against the number of users of an item. An event that lies j
// events back counts α^j; the values of α halve its weight in about ½, 1, 2, 4, 8 and 16 events.
var (
	easeLambdas = []float64{5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000}
	easeAlphas  = []float64{0.25, 0.5, 0.7, 0.85, 0.92, 0.96}
)

const (
	// maxEASEBytes bounds the triangle of the n×n matrix. maxEASEItems is the largest n within it.
	maxEASEBytes = 4 << 30
	maxEASEItems = 32513

	// EASEQuickItems is the number of items up to which every λ of the grid is tried. Beyond it an
	// inverse takes up to minutes. Such data have many validation users, so that their NDCG is
	// smooth in λ: the search climbs from λ = 100 and ends after easeVisits inverses.
	EASEQuickItems = 6000
	easeStart      = 4 // index of 100 in easeLambdas
	easeVisits     = 4
)

// easeRanks returns, for each α, the ranks of the last item of every user of h by the scores of the
// items before it.
func easeRanks(e *regression.Model, h *dataset.Histories, alphas []float64) [][]int32 {
	ranks := make([][]int32, len(alphas))
	for a := range ranks {
		ranks[a] = make([]int32, h.Len())
	}
	forEach(h.Len(), func(int) {}, func() func(u int) {
		s := e.Scorer(len(alphas))
		return func(u int) {
			events := train.History(h, u)
			s.Score(events[:len(events)-1], alphas)
			for a := range alphas {
				ranks[a][u] = rankLast(s.Scores[a], h, u)
			}
		}
	})
	return ranks
}

// ease is the method EASE^R. lambda and alpha, if set, are its constants.
type ease struct {
	forgets       bool
	lambda, alpha float64
}

func (m ease) Name() string {
	if m.forgets {
		return EASEForgetting
	}
	return EASE
}

func (ease) Needs() Needs { return Needs{} }

// Rank ranks by the constants with the best NDCG@10 on the validation users: λ, and α if the method
// forgets. The target of a validation user is the last item, as for a test user.
func (m ease) Rank(t *Task) error {
	n := len(t.Part.Items)
	if n > maxEASEItems {
		return fmt.Errorf(
			"needs half a matrix of all pairs of items: %d items take %.1f GiB, and no more than "+
				"%.0f GiB (%d items) are allowed; leave rare items out",
			n, 8*float64(symmetric.Len(n))/(1<<30), float64(maxEASEBytes>>30), maxEASEItems)
	}
	if m.lambda == 0 && t.Part.Validation.Len() == 0 {
		return errors.New("chooses lambda on the validation users, " +
			"and none has two or more items that a training user has")
	}
	s := &easeSearch{
		task: t, forgets: m.forgets, alphas: []float64{1}, inverses: m.trials(n),
		buf: symmetric.New(n), best: math.Inf(-1),
	}
	if m.forgets {
		s.alphas = easeAlphas
	}
	if m.lambda != 0 {
		s.alphas = []float64{m.alpha}
		_, err := s.try(m.lambda)
		return err
	}
	if n > EASEQuickItems {
		return climb(easeStart, len(easeLambdas), easeVisits, func(place int) (float64, error) {
			return s.try(easeLambdas[place])
		})
	}
	for _, lambda := range easeLambdas {
		if _, err := s.try(lambda); err != nil {
			return err
		}
	}
	return nil
}

func (m ease) choose(t *Task) (Method, error) {
	if err := m.Rank(t); err != nil {
		return nil, err
	}
	m.lambda, m.alpha = t.Chosen["lambda"], 1
	if m.forgets {
		m.alpha = t.Chosen["alpha"]
	}
	return m, nil
}

// trials returns the number of inverses, at most, that the method tries for n items.
func (m ease) trials(n int) int {
	switch {
	case m.lambda != 0:
		return 1
	case n > EASEQuickItems:
		return easeVisits
	}
	return len(easeLambdas)
}

// easeSearch keeps the best figure on the validation users so far. Whenever it rises, the test
// users are ranked at once, so that no model is kept or built again. Their ranks do not influence
// the search.
type easeSearch struct {
	task     *Task
	forgets  bool
	alphas   []float64
	inverses int // at most, for the progress
	done     int
	buf      symmetric.Matrix // for one model after the other
	best     float64          // NDCG@10 on the validation users
}

// try returns the best NDCG@10 on the validation users over all α.
func (s *easeSearch) try(lambda float64) (float64, error) {
	t := s.task
	e, err := regression.New(train.Incidence(t.Part), lambda, s.buf, func(done, total int) {
		t.progress(len(t.Ranks) * (s.done*total + done) / (s.inverses * total))
	})
	if err != nil {
		return 0, err
	}
	s.done++
	best := math.Inf(-1)
	for a, ranks := range easeRanks(e, &t.Part.Validation, s.alphas) {
		ndcg, alpha := MetricAt(10, ranks).NDCG, s.alphas[a]
		best = max(best, ndcg)
		if ndcg > s.best {
			s.best = ndcg
			t.Ranks = easeRanks(e, &t.Part.Test, []float64{alpha})[0]
			t.Chosen = map[string]float64{"lambda": lambda}
			if s.forgets {
				t.Chosen["alpha"] = alpha
			}
		}
	}
	return best, nil
}

// climb looks for the largest value at an index below n. It begins at start and steps upwards while
// the value rises. If the first step up is no better, it steps downwards. It ends after budget
// calls.
func climb(start, n, budget int, value func(place int) (float64, error)) error {
	begin, err := value(start)
	if err != nil {
		return err
	}
	for _, step := range []int{1, -1} {
		top := begin
		for place := start + step; place >= 0 && place < n; place += step {
			if budget--; budget == 0 {
				return nil
			}
			v, err := value(place)
			if err != nil {
				return err
			}
			if v <= top {
				break
			}
			top = v
		}
		if top > begin {
			return nil
		}
	}
	return nil
}
