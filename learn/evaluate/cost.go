package evaluate

import (
	"github.com/gsimc/gsimc/internal/num/cost"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/local"
	"github.com/gsimc/gsimc/spectral"
)

// A Stage is a part of [Run], or of solving a basis for it.
type Stage struct {
	Name    string  // as Options.Progress is told
	Seconds float64 // predicted for a typical machine of 2025; only the ratios carry over to others
}

// StageRank returns the stage in which a method ranks users, as Options.Progress is told.
func StageRank(method string) string { return "ranking by " + method }

// Cost returns the predicted work of the bases that the methods need and of [Run], stage by stage
// in their order. The stages have the names that Progress is told. paper and learned configure the
// two kinds of models; methods that need neither ignore them.
func Cost(
	p *dataset.Partition, methods []Method, paper, learned train.Config, processors int,
) []Stage {
	c := coster{part: p, paper: paper, learned: learned, processors: processors}
	return append(c.bases(NeedsOf(methods)), c.methods(methods)...)
}

// coster predicts the work of methods on one partition.
type coster struct {
	part           *dataset.Partition
	paper, learned train.Config
	processors     int
}

// SharesBasis tells whether two kinds of models are built on the same basis.
func SharesBasis(a, b *train.Config, items int) bool {
	x, y := a.SolverOptions(items), b.SolverOptions(items)
	return x.Graph == y.Graph && x.Rank == y.Rank
}

// bases returns the stages in which the bases are solved.
func (c *coster) bases(n Needs) (stages []Stage) {
	solve := func(cfg train.Config) {
		stages = append(stages, c.announced(cfg)[0])
	}
	if n.Paper {
		solve(c.paper)
	}
	if n.Learned && (!n.Paper || !SharesBasis(&c.paper, &c.learned, len(c.part.Items))) {
		solve(c.learned)
	}
	return stages
}

// announced returns the stages of a training.
func (c *coster) announced(cfg train.Config) (stages []Stage) {
	announced := train.NewPlan(c.part, cfg).Announced()
	for i := range announced {
		s := &announced[i]
		stages = append(stages, Stage{s.Name, s.TypicalSeconds(c.processors)})
	}
	return stages
}

// methods returns the stages of all methods.
func (c *coster) methods(methods []Method) (stages []Stage) {
	for _, m := range methods {
		if byModel, ok := m.(ModelMethod); ok && byModel.Learned() {
			for _, s := range c.announced(c.learned) {
				switch s.Name {
				case model.StageLearn, model.StageChoose, model.StageFit, model.StageNoise,
					model.StageLocal:
					stages = append(stages, s)
				}
			}
		}
		seconds := cost.Typical.Seconds(c.ranking(m)) / float64(c.processors)
		stages = append(stages, Stage{StageRank(m.Name()), seconds})
	}
	return stages
}

const (
	rankBytes   = 16  // bytes read for each item and user when a target is ranked
	betterTimes = 2   // times that a better constant is found on the validation users, as a rule
	easeWork    = 1.5 // operations for each n³ of an inverse, with the matrix RᵀR before it
	cgSteps     = 30  // steps of conjugate gradients for mrfcf, as a rule
	cgRows      = 3   // rows of 128 bytes fetched for each interaction, step and 32 users
	vsknnRows   = 1.5 // rows of 128 bytes that a session is worth that shares an item

	markovTrials = 24  // sets of constants that are tried, as a rule
	markovNear   = 250 // items that a local term of a history has a number for, as a rule
)

// visits returns the number of sessions that V-SKNN visits for a user, as a rule: for each event of
// the history those with its item, up to the m of the start of the search. An item stands in
// histories as often as in those of the training users.
func (c *coster) visits() float64 {
	histories, m := &c.part.Validation, vsknnStart.spec().m
	if histories.Len() == 0 {
		histories = &c.part.Test
	}
	var visited float64
	for _, degree := range train.Incidence(c.part).Degrees() {
		visited += float64(degree) * min(float64(degree), float64(m))
	}
	return visited / max(1, float64(len(c.part.Train.Item))) *
		float64(len(histories.Item)) / max(1, float64(histories.Len()))
}

// VSKNNQuickSeconds is the predicted time on one processor up to which V-SKNN is one of
// [DefaultMethods].
const VSKNNQuickSeconds = 30

// quickVSKNN tells whether V-SKNN takes seconds on p.
func quickVSKNN(p *dataset.Partition) bool {
	c := coster{part: p}
	return cost.Typical.Seconds(c.ranking(vsknn{})) <= VSKNNQuickSeconds
}

// ranking returns the work of ranking by a method.
func (c *coster) ranking(m Method) (w cost.Work) {
	items := float64(len(c.part.Items))
	tested, validated := float64(c.part.Test.Len()), float64(c.part.Validation.Len())
	byModel := func(cfg *train.Config) float64 { // bytes for each user
		return items * (4*float64(cfg.RankFor(len(c.part.Items))) + rankBytes)
	}
	switch m := m.(type) {
	case ModelMethod:
		cfg := &c.paper
		if m.Learned() {
			cfg = &c.learned
		}
		w[cost.Stream] = tested * byModel(cfg)
	case bestGS:
		ranked := tested
		if m.filter == "" {
			ranked = float64(len(spectral.FilterNames))*validated + betterTimes*tested
		}
		w[cost.Stream] = ranked * byModel(&c.paper)
	case mrfcf:
		w[cost.Gather] = tested / mrfcfBlock * cgSteps * cgRows * float64(len(c.part.Train.Item))
		w[cost.Stream] = tested * items * rankBytes
	case vsknn:
		evaluated := tested
		if m.spec == nil {
			evaluated += vsknnTrials * min(validated, vsknnUsers)
		}
		w[cost.Gather] = evaluated * c.visits() * vsknnRows
		w[cost.Stream] = 2 * evaluated * items * rankBytes // cleared and weighted besides
	case markov:
		w[cost.Scatter] = 2 * local.MaxGap * float64(len(c.part.Train.Item))
		if m.spec == nil {
			positions := min(float64(len(c.part.Validation.Item)), markovUsers)
			w[cost.Scatter] += markovTrials * (positions*markovNear +
				items*float64(local.Default().Neighbours))
		}
		w[cost.Stream] = tested * items * rankBytes
	case ease:
		inverses, alphas := m.trials(len(c.part.Items))
		history := float64(len(c.part.Validation.Item)) / max(1, validated)
		w[cost.Double] = easeWork * float64(inverses) * items * items * items
		w[cost.Stream] = (float64(inverses*alphas)*validated + betterTimes*tested) *
			items * (8*history + rankBytes)
	default:
		w[cost.Stream] = tested * items * rankBytes
	}
	return w
}
