package evaluate

import "github.com/gsimc/gsimc/train"

// popularity ranks items by the number of their training users.
type popularity struct{}

func (popularity) Name() string { return Popularity }
func (popularity) Needs() Needs { return Needs{} }

func (popularity) Rank(t *Task) error {
	degrees := train.Incidence(t.Part).Degrees()
	t.forEachUser(func() func(u int) {
		return func(u int) {
			seen, target := split(&t.Part.Test, u)
			t.Ranks[u] = rank(degrees, target, seen)
		}
	})
	return nil
}
