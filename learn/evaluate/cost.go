package evaluate

import (
	"github.com/gsimc/gsimc/internal/num/cost"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model/fit"
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
	for _, s := range train.NewPlan(c.part, cfg).Announced() {
		stages = append(stages, Stage{s.Name, train.Seconds(s.Work, c.processors)})
	}
	return stages
}

// methods returns the stages of all methods.
func (c *coster) methods(methods []Method) (stages []Stage) {
	for _, m := range methods {
		if byModel, ok := m.(ModelMethod); ok && byModel.Learned() {
			for _, s := range c.announced(c.learned) {
				switch s.Name {
				case fit.StageLearn, fit.StageChoose, fit.StageFit, fit.StageNoise,
					fit.StageLocal:
					stages = append(stages, s)
				}
			}
		}
		stages = append(stages,
			Stage{StageRank(m.Name()), train.Seconds(m.work(c), c.processors)})
	}
	return stages
}

const (
	rankBytes   = 16 // bytes read for each item and user when a target is ranked
	betterTimes = 2  // times that a better constant is found on the validation users, as a rule
)

// users returns the numbers of test and validation users.
func (c *coster) users() (tested, validated float64) {
	return float64(c.part.Test.Len()), float64(c.part.Validation.Len())
}

// items returns the number of items.
func (c *coster) items() float64 { return float64(len(c.part.Items)) }

// trained returns the number of events of the training users.
func (c *coster) trained() float64 { return float64(len(c.part.Train.Item)) }

// byItem returns the work of ranking each test user's target among items with a score each.
func (c *coster) byItem() (w cost.Work) {
	tested, _ := c.users()
	w[cost.Stream] = tested * c.items() * rankBytes
	return w
}

// byModel returns the work of ranking the targets of a number of users by a model.
func (c *coster) byModel(users float64, cfg *train.Config) (w cost.Work) {
	bytes := c.items() * (4*float64(cfg.RankFor(len(c.part.Items))) + rankBytes)
	w[cost.Stream] = users * bytes
	return w
}
