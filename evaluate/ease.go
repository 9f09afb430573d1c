package evaluate

import (
	"errors"
	"fmt"
	"math"

	"github.com/gsimc/gsimc/train"

	"gonum.org/v1/gonum/floats"

	"github.com/gsimc/gsimc/dataset"
	"github.com/gsimc/gsimc/evaluate/internal/symmetric"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/spectral"
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

// easeModel is the item-item model EASE^R (H. Steck, "Embarrassingly Shallow Autoencoders for
// Sparse Data", WWW 2019), which regresses every column of the 0/1 matrix R of the training users
// on all others:
//
//	min ‖R − RB‖² + λ‖B‖²  with  diag B = 0
//	B = I − P diag(1/diag P),   P = (RᵀR + λI)^{-1}
//
// The scores of a user are ŷ = sB for the signal s of the history. The events of the history have
// their weights; those of the training users count as 1, as in every R here. Only −P is kept, and
// of it only a triangle.
type easeModel struct {
	q        symmetric.Matrix // −P
	diagonal []float64        // of P
}

// newEASE solves for P in the memory of q, which then belongs to the result. There is no other
// matrix of all pairs of items. step, if not nil, is told the number of steps of the inversion that
// are done. O(n³).
func newEASE(
	r *spectral.Incidence, lambda float64, q symmetric.Matrix, step func(done, total int),
) (*easeModel, error) {
	gramTo(q, r, lambda)
	if err := q.NegInvert(step); err != nil {
		return nil, err
	}
	e := &easeModel{q: q, diagonal: make([]float64, q.N())}
	for j := range e.diagonal {
		e.diagonal[j] = -q.Row(j)[0]
	}
	return e, nil
}

// gramTo sets g to RᵀR + λI.
func gramTo(g symmetric.Matrix, r *spectral.Incidence, lambda float64) {
	g.Clear()
	for u := range r.NumUsers() {
		items := r.Item[r.Ptr[u]:r.Ptr[u+1]]
		for a, i := range items {
			for _, j := range items[:a] {
				g.Row(int(min(i, j)))[max(i, j)-min(i, j)]++
			}
			g.Row(int(i))[0]++
		}
	}
	for i := range g.N() {
		g.Row(i)[0] += lambda
	}
}

// easeScorer computes scores by one model. It is the working memory of one worker.
type easeScorer struct {
	*easeModel
	row    []float64   // of −P
	scores [][]float64 // for each α
}

func (e *easeModel) scorer(alphas int) *easeScorer {
	s := &easeScorer{easeModel: e, row: make([]float64, e.q.N())}
	for range alphas {
		s.scores = append(s.scores, make([]float64, e.q.N()))
	}
	return s
}

// score sets s.scores[a] = sB for each α. An event that lies j events back counts its weight times
// α^j; α = 1 does not forget. As B_ij = −P_ij/P_jj off the diagonal, the division comes last.
func (s *easeScorer) score(h model.History, alphas []float64) {
	fades := make([]float64, len(alphas))
	for a := range alphas {
		clear(s.scores[a])
		fades[a] = 1
	}
	for j := len(h) - 1; j >= 0; j-- {
		s.q.RowTo(s.row, int(h[j].Item))
		s.row[h[j].Item] = 0
		for a, alpha := range alphas {
			floats.AddScaled(s.scores[a], fades[a]*float64(h[j].Weight), s.row)
			fades[a] *= alpha
		}
	}
	for a := range alphas {
		floats.Div(s.scores[a], s.diagonal)
	}
}

// ranks returns, for each α, the ranks of the last item of every user of h by the scores of the
// items before it.
func (e *easeModel) ranks(h *dataset.Histories, alphas []float64) [][]int32 {
	ranks := make([][]int32, len(alphas))
	for a := range ranks {
		ranks[a] = make([]int32, h.Len())
	}
	forEach(h.Len(), func(int) {}, func() func(u int) {
		s := e.scorer(len(alphas))
		return func(u int) {
			events := train.History(h, u)
			s.score(events[:len(events)-1], alphas)
			seen, target := split(h, u)
			for a := range alphas {
				ranks[a][u] = rank(s.scores[a], target, seen)
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
	inverses, _ := m.trials(n)
	s := &easeSearch{
		task: t, forgets: m.forgets, alphas: []float64{1}, inverses: inverses,
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

// trials returns the numbers of inverses, at most, and of values of α that the method tries for n
// items.
func (m ease) trials(n int) (inverses, alphas int) {
	if m.lambda != 0 {
		return 1, 1
	}
	inverses, alphas = len(easeLambdas), 1
	if n > EASEQuickItems {
		inverses = easeVisits
	}
	if m.forgets {
		alphas = len(easeAlphas)
	}
	return inverses, alphas
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
	e, err := newEASE(train.Incidence(t.Part), lambda, s.buf, func(done, total int) {
		t.progress(len(t.Ranks) * (s.done*total + done) / (s.inverses * total))
	})
	if err != nil {
		return 0, err
	}
	s.done++
	best := math.Inf(-1)
	for a, ranks := range e.ranks(&t.Part.Validation, s.alphas) {
		ndcg, alpha := MetricAt(10, ranks).NDCG, s.alphas[a]
		best = max(best, ndcg)
		if ndcg > s.best {
			s.best = ndcg
			t.Ranks = e.ranks(&t.Part.Test, []float64{alpha})[0]
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
