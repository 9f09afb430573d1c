package dynamics

import (
	"errors"
	"fmt"
	"iter"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/kalman"
)

// ErrNothingToPredict is the cause of NewMoments' fault if no user has two events.
var ErrNothingToPredict = errors.New("there is nothing to predict")

// Options choose the part of the histories that the regression sees.
type Options struct {
	Bands []kalman.Band // r, 1 to kalman.MaxBands

	// Positions is the number of targets of each user: the last events. 0 stands for all events but
	// the first.
	Positions int

	// Targets bounds the targets of all users, about. Beyond it, users are taken at even
	// distances. 0 stands for no bound.
	Targets int
}

// RegressionTargets is a bound on [Options.Targets] that costs no accuracy. A coordinate of the
// regression has r·k+1 unknowns, 4,097 with four bands and rank 1024. They add their share of the
// targets to the variance of what is expected, 0.02 %.
const RegressionTargets = 1 << 24

// validate returns a fault for every field that is out of range, joined in one error.
func (o *Options) validate() error {
	var positions, targets error
	if o.Positions < 0 {
		positions = fault.New("Positions", o.Positions, "at least 0")
	}
	if o.Targets < 0 {
		targets = fault.New("Targets", o.Targets, "at least 0")
	}
	return errors.Join(kalman.ValidateBands(o.Bands), positions, targets)
}

// targets is the number of targets of a history of two events or more.
func (o *Options) targets(h kalman.History) int {
	if o.Positions > 0 {
		return min(len(h)-1, o.Positions)
	}
	return len(h) - 1
}

// Moments hold the parts of the histories on which the second moments of states and targets
// depend. They do not depend on the encoder rows, so that one value serves every basis, rank and
// scaling of it. Safe for concurrent use.
type Moments struct {
	n, r   int
	users  []span
	item   []int32
	weight []float32 // nil: all are 1

	// rho holds r factors, by which each band fades before an event. faded[b] holds the factor of
	// every event if band b fades by time too, else nil. Both are rounded as Dynamics.Update rounds
	// them.
	rho   []float32
	faded [][]float32

	positions int       // N, the number of targets
	mass      []float64 // r×n: Σ_t x_b[t] = Σ_i mass[b,i] e_i over the states t before a target
	count     []float64 // n: how often an item is a target
	longest   int       // events of the longest of these histories
}

// span is one user's place among the events: first to end, with targets from target on.
type span struct{ first, target, end int }

// NewMoments prepares the histories of the training users over n = numItems items; users with fewer
// than two events do not count. It fails if nobody is left, and if an option or an event is out of
// range. O(events·r) time. Memory for each event of the users who are taken is 4 bytes, 4 more if
// not all weights are 1, and 4 more for each band that fades by time.
//
// histories yields the same in every pass; no history is kept.
func NewMoments(numItems int, histories iter.Seq[kalman.History], opt Options) (*Moments, error) {
	if err := opt.validate(); err != nil {
		return nil, err
	}
	r := len(opt.Bands)
	m := &Moments{n: numItems, r: r, rho: make([]float32, r), faded: make([][]float32, r)}
	t, err := m.check(histories, opt)
	if err != nil {
		return nil, err
	}
	users := sampleOf(t.users, t.targets, opt.Targets)
	m.reserve(t, users, opt.Bands)
	for h := range histories {
		if len(h) >= 2 && users.takes() {
			m.add(h, opt)
		}
	}
	m.sum()
	return m, nil
}

// Predictable returns the fault of [NewMoments] if no history has two events, and checks nothing
// else. It is for those who have much to do before they call that.
func Predictable(histories iter.Seq[kalman.History]) error {
	all := 0
	for h := range histories {
		if len(h) >= 2 {
			return nil
		}
		all++
	}
	return noPairs(all)
}

func noPairs(users int) error {
	return &fault.Fault{
		Field: "Histories",
		Err:   fmt.Errorf("%w: no user of %d has two items", ErrNothingToPredict, users),
		Want:  "users with two items or more",
		// The paper's preset learns nothing from the order of events.
		Advice: []fault.Change{{Verb: "set", Field: "Preset", To: "paper"}},
	}
}

// sample takes some of many users at even distances.
type sample struct{ taken, of, seen int }

// takes reports whether the next user is taken.
func (s *sample) takes() bool {
	before := s.seen * s.taken / s.of
	s.seen++
	return s.seen*s.taken/s.of > before
}

// sampleOf returns the sample of users that has about as many of the targets as the bound allows.
func sampleOf(users, targets, bound int) sample {
	s := sample{taken: users, of: users}
	if bound > 0 && targets > bound {
		s.taken = max(1, int(float64(users)*float64(bound)/float64(targets)))
	}
	return s
}

// tally holds what is known of all histories before any is added.
type tally struct {
	users, events, targets int // of users with two events or more
	weighted               bool
}

// check counts the events, and returns the fault of the first that is out of range.
func (m *Moments) check(
	histories iter.Seq[kalman.History], opt Options,
) (t tally, err error) {
	all := 0
	for h := range histories {
		for p, e := range h {
			t.weighted = t.weighted || e.Weight != 1
			if e.Item < 0 || int(e.Item) >= m.n {
				return t, inEvent(all, p, fault.New("Item", e.Item, fmt.Sprintf("0 to %d", m.n-1)))
			}
			if e.Weight-e.Weight != 0 {
				return t, inEvent(all, p, fault.New("Weight", e.Weight, "a finite number"))
			}
		}
		all++
		if len(h) >= 2 {
			t.users++
			t.events += len(h)
			t.targets += opt.targets(h)
		}
	}
	if t.users == 0 {
		return t, noPairs(all)
	}
	return t, nil
}

// reserve makes room for the events of the users who are taken.
func (m *Moments) reserve(t tally, users sample, bands []kalman.Band) {
	events := t.events
	if users.taken < users.of { // about, and rarely more
		events = int(1.02 * float64(events) * float64(users.taken) / float64(users.of))
	}
	m.users = make([]span, 0, users.taken)
	m.item = make([]int32, 0, events)
	if t.weighted {
		m.weight = make([]float32, 0, events)
	}
	for b, band := range bands {
		m.rho[b] = float32(band.Rho)
		if band.HalfLife > 0 {
			m.faded[b] = make([]float32, 0, events)
		}
	}
	m.mass, m.count = make([]float64, m.r*m.n), make([]float64, m.n)
}

// inEvent places the fault of an event.
func inEvent(history, event int, f *fault.Fault) error {
	return fault.In(fmt.Sprintf("history %d: event %d", history, event), f)
}

// add appends one history.
func (m *Moments) add(h kalman.History, opt Options) {
	targets := opt.targets(h)
	s := span{first: len(m.item), end: len(m.item) + len(h)}
	s.target = s.end - targets
	m.users = append(m.users, s)
	m.positions += targets
	m.longest = max(m.longest, len(h))

	newest := h[0].Time
	for _, e := range h {
		m.item = append(m.item, e.Item)
		if m.weight != nil {
			m.weight = append(m.weight, e.Weight)
		}
		elapsed := elapsed(newest, e.Time)
		for b, band := range opt.Bands {
			if m.faded[b] != nil {
				m.faded[b] = append(m.faded[b], float32(band.Decay(elapsed)))
			}
		}
		newest = max(newest, e.Time)
	}
}

// decay is what band b fades by before event p.
func (m *Moments) decay(p, b int) float32 {
	if f := m.faded[b]; f != nil {
		return f[p]
	}
	return m.rho[b]
}

// weightOf is the weight of event p.
func (m *Moments) weightOf(p int) float32 {
	if m.weight == nil {
		return 1
	}
	return m.weight[p]
}

// elapsed is the time from newest to t, as a kalman.State has it: 0 if t is earlier.
func elapsed(newest, t int64) int64 {
	if t <= newest {
		return 0
	}
	if d := t - newest; d > 0 {
		return d
	}
	return 1<<63 - 1 // the difference does not fit
}

// sum computes mass and count: the adjoint of the fold, applied to ones.
func (m *Moments) sum() {
	for _, s := range m.users {
		for p := s.target; p < s.end; p++ {
			m.count[m.item[p]]++
		}
		for b := range m.r {
			y, mass := 0.0, m.mass[b*m.n:(b+1)*m.n]
			for p := s.end - 2; p >= s.first; p-- {
				y *= float64(m.decay(p+1, b))
				if p+1 >= s.target {
					y++
				}
				mass[m.item[p]] += y * float64(m.weightOf(p))
			}
		}
	}
}
