package evaluate

import "github.com/gsimc/gsimc/learn/train"

// popularity ranks items by the number of their training users.
type popularity struct{}

func (popularity) Name() string { return Popularity }
func (popularity) Needs() Needs { return Needs{} }

func (popularity) Rank(t *Task) error {
	t.rankByDegrees(train.Incidence(t.Part).Degrees())
	return nil
}

// rankByDegrees ranks the items by numbers of users.
func (t *Task) rankByDegrees(degrees []int64) {
	t.forEachUser(func() func(u int) {
		return func(u int) {
			t.Ranks[u] = rankLast(degrees, &t.Part.Test, u)
		}
	})
}
