package evaluate

import (
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model"
)

// OnValidation ranks the last item of each validation user by a trained model and by popularity.
// The model folds the items before it, as a server does. Of more than limit users it takes limit
// evenly spaced ones; 0 stands for all. Popularity is that of the model; the training users of p
// are not read. The model has learned its noise from the same users, so its figures are slightly
// too good. Without validation users both results are without ranks.
func OnValidation(
	m *model.Model, p *dataset.Partition, limit int,
) (byModel, byPopularity Result) {
	some := onValidation(p, limit)
	method := Filtered(BGSOnline, m.Spec().Filter.Name)
	if m.Spec().Dynamics.Kind == model.DynamicsLearned {
		method = LearnedDynamics()
	}
	ranks := make([]int32, some.Test.Len())
	method.rankBy(m, &some.Test, ranks, func(int) {})
	t := newTask(some, &Options{}, popularity{})
	t.rankByDegrees(m.Degrees())
	return newResult(method.Name(), ranks), t.result()
}
