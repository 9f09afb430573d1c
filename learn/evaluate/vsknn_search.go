package evaluate

import (
	"errors"
	"math"

	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/train"
)

// The grids of the constants of [VSKNN], besides [decays].
var (
	vsknnK   = []int{25, 50, 100, 200, 500, 1000, 2000}
	vsknnM   = []int{100, 250, 500, 1000, 2500, 5000, 10000}
	vsknnIDF = []float64{0, 1, 2, 5, 10}
)

const (
	// vsknnUsers bounds the number of validation users that the constants are chosen on. They are
	// evenly spaced.
	vsknnUsers  = 5000
	vsknnRounds = 3  // of the search, at most
	vsknnTrials = 30 // points of the grid that are tried, as a rule

	// VSKNNQuickSeconds is the predicted time on one processor of 2025 up to which V-SKNN is one
	// of [DefaultMethods].
	VSKNNQuickSeconds = 30

	vsknnVisitSeconds = 25e-9   // for a session that shares an item with a user
	vsknnItemSeconds  = 2.13e-9 // for an item: its score is cleared, weighted and ranked
)

// vsknn is the method V-SKNN; see neighbours. spec, if set, are its constants.
type vsknn struct{ spec *neighbourSpec }

func (vsknn) Name() string { return VSKNN }
func (vsknn) Needs() Needs { return Needs{} }

// Rank ranks by the constants with the best NDCG@10 on the validation users.
func (m vsknn) Rank(t *Task) error {
	index := newNeighbours(t.Part)
	spec, begin := m.spec, 0
	if spec == nil {
		var err error
		if spec, err = chooseVSKNN(t, index); err != nil {
			return err
		}
		begin = vsknnSearchShare(t)
	}
	tested := len(t.Ranks)
	t.Ranks = index.ranks(&t.Part.Test, spec, func(done int) {
		t.progress(begin + (tested-begin)*done/tested)
	})
	t.Chosen = map[string]float64{"k": float64(spec.k), "m": float64(spec.m), "idf": spec.idf}
	t.Variant = spec.similarity.name + ", " + spec.match.name
	return nil
}

// quickVSKNN tells whether V-SKNN takes seconds on p, which has validation users. For each event of
// a history it visits the sessions with the event's item, up to the m of the start of the search.
// An item stands in histories as often as in those of the training users.
func quickVSKNN(p *dataset.Partition) bool {
	m, visited := int64(vsknnStart.spec().m), 0.0
	for _, degree := range train.Incidence(p).Degrees() {
		visited += float64(degree * min(degree, m))
	}
	validated := p.Validation.Len()
	length := float64(len(p.Validation.Item)) / float64(validated)
	visits := length * visited / max(1, float64(len(p.Train.Item)))
	ranked := p.Test.Len() + vsknnTrials*min(validated, vsknnUsers)
	seconds := float64(ranked) *
		(vsknnVisitSeconds*visits + vsknnItemSeconds*float64(len(p.Items)))
	return seconds <= VSKNNQuickSeconds
}

func (m vsknn) choose(t *Task) (Method, error) {
	spec, err := chooseVSKNN(t, newNeighbours(t.Part))
	return vsknn{spec}, err
}

// chooseVSKNN returns the constants with the best NDCG@10 on the validation users.
func chooseVSKNN(t *Task, index *neighbours) (*neighbourSpec, error) {
	if t.Part.Validation.Len() == 0 {
		return nil, errors.New("chooses its constants on the validation users, " +
			"and none has two or more items that a training user has")
	}
	users, end := &onValidation(t.Part, vsknnUsers).Test, vsknnSearchShare(t)
	s := &vsknnSearch{index: index, users: users, tried: map[vsknnPoint]float64{}}
	s.told = func(tried int) { t.progress(end * min(tried, vsknnTrials) / vsknnTrials) }
	return s.best(), nil
}

// vsknnSearchShare returns the progress at the end of the search, in test users.
func vsknnSearchShare(t *Task) int {
	work := float64(vsknnTrials * min(vsknnUsers, t.Part.Validation.Len()))
	tested := float64(len(t.Ranks))
	return int(tested * work / (work + tested))
}

// vsknnPoint is a point of the grid: indices of k, m, the two decays and the idf weight.
type vsknnPoint [5]int

// vsknnSizes are the numbers of values of the coordinates.
var vsknnSizes = vsknnPoint{len(vsknnK), len(vsknnM), len(decays), len(decays), len(vsknnIDF)}

// vsknnStart is the paper's choice: k = 100, m = 1000, linear decays, no idf weights.
var vsknnStart = vsknnPoint{2, 3, 2, 2, 0}

func (p vsknnPoint) spec() *neighbourSpec {
	return &neighbourSpec{
		k: vsknnK[p[0]], m: vsknnM[p[1]], similarity: decays[p[2]], match: decays[p[3]],
		idf: vsknnIDF[p[4]],
	}
}

// vsknnSearch looks for the point of the largest NDCG@10.
type vsknnSearch struct {
	index *neighbours
	users *dataset.Histories
	tried map[vsknnPoint]float64
	told  func(tried int)
}

// best climbs from the paper's constants, one coordinate after the other, until no coordinate moves
// or vsknnRounds are over.
func (s *vsknnSearch) best() *neighbourSpec {
	at, top := vsknnStart, math.Inf(-1)
	for range vsknnRounds {
		before := at
		for axis, n := range vsknnSizes {
			p := at
			_ = climb(at[axis], n, math.MaxInt, func(place int) (float64, error) {
				p[axis] = place
				ndcg := s.try(p)
				if ndcg > top {
					top, at = ndcg, p
				}
				return ndcg, nil
			})
		}
		if at == before {
			break
		}
	}
	return at.spec()
}

// try returns the NDCG@10 of a point.
func (s *vsknnSearch) try(p vsknnPoint) float64 {
	ndcg, ok := s.tried[p]
	if !ok {
		ndcg = MetricAt(10, s.index.ranks(s.users, p.spec(), func(int) {})).NDCG
		s.tried[p] = ndcg
		s.told(len(s.tried))
	}
	return ndcg
}
