package evaluate

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/gsimc/gsimc/dataset"
	"github.com/gsimc/gsimc/internal/parallel"
	"github.com/gsimc/gsimc/model"
)

// RecentUsers returns up to n users with two items or more, the last of them after the given time, ascending: of the 4·n of
// these who were active last, those whose ids have the smallest hashes. So the choice is recent without being the users of
// one hour, and does not change from call to call. Without times all users count as recent.
func RecentUsers(d *dataset.Interactions, after int64, n int) []int32 {
	type candidate struct {
		user int32
		last int64
		hash uint64
	}
	var all []candidate
	for u := range d.Users {
		if len(d.Of(u)) < 2 {
			continue
		}
		c := candidate{user: int32(u)}
		if d.Time != nil {
			if c.last = d.Time[d.Ptr[u+1]-1]; c.last <= after {
				continue
			}
		}
		c.hash = hashID(d.Users[u])
		all = append(all, c)
	}
	byHash := func(a, b candidate) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.user, b.user)) }
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Or(cmp.Compare(b.last, a.last), byHash(a, b)) })
	all = all[:min(len(all), 4*n)]
	slices.SortFunc(all, byHash)
	users := make([]int32, min(len(all), n))
	for i := range users {
		users[i] = all[i].user
	}
	slices.Sort(users)
	return users
}

// hashID is the start of the SHA-256 of an id: neighbouring ids have nothing in common in it.
func hashID(id string) uint64 {
	sum := sha256.Sum256([]byte(id))
	return binary.BigEndian.Uint64(sum[:])
}

// Comparison is how two models foresee the next items of the same users.
type Comparison struct {
	Users   int // how many there are, with a target that both models know
	LeftOut int // users with another target
	N       int // length of the lists

	// Recall@N, the share of the users whose item is among the first N, and its standard error.
	Old, OldErr float64
	New, NewErr float64
	// Difference is New − Old, and DifferenceErr its standard error, smaller than the two apart would let expect: it is that of
	// the mean difference over the same users.
	Difference, DifferenceErr float64
}

// Worse reports whether the new model is worse than the old one by more than one standard error.
func (c *Comparison) Worse() bool { return c.Difference < -c.DifferenceErr }

// Targets are users with the items that they took next, the event after those of their histories.
type Targets struct {
	Users []int32 // indices of Interactions.Users
	Items []int32 // indices of Interactions.Items
}

// Compare ranks the target of each user by both models, with the state after the user's history in d, among all items that the
// model knows and the history has not. A user whose history holds nothing that a model knows is ranked by popularity. est is
// what old and new answer with.
//
// Only targets that both models know count. An item that is newer than the old model would be a certain miss of it; but a server
// extends the model that it serves by such items, and they would hide that the new model is worse on all others. Where no
// target is left, all figures are 0.
func Compare(old, fresh *model.Model, est model.Estimator, d *dataset.Interactions, t Targets, n int) Comparison {
	all := len(t.Users)
	t = t.knownTo(d, old, fresh)
	hits := [2][]float64{}
	for i, m := range []*model.Model{old, fresh} {
		hits[i] = hitsAt(m, est, d, t, n)
	}
	c := Comparison{Users: len(t.Users), LeftOut: all - len(t.Users), N: n}
	before, after, gained := mean(hits[0]), mean(hits[1]), mean(difference(hits[1], hits[0]))
	c.Old, c.OldErr = before.Mean, before.StdErr
	c.New, c.NewErr = after.Mean, after.StdErr
	c.Difference, c.DifferenceErr = gained.Mean, gained.StdErr
	return c
}

// knownTo returns the targets whose items all models know.
func (t Targets) knownTo(d *dataset.Interactions, models ...*model.Model) Targets {
	var kept Targets
	for k, i := range t.Items {
		unknown := func(m *model.Model) bool { _, known := m.ItemIndex(d.Items[i]); return !known }
		if !slices.ContainsFunc(models, unknown) {
			kept.Users, kept.Items = append(kept.Users, t.Users[k]), append(kept.Items, i)
		}
	}
	return kept
}

// hitsAt is 1 for each target among the first n, else 0. The model knows the targets.
func hitsAt(m *model.Model, est model.Estimator, d *dataset.Interactions, t Targets, n int) []float64 {
	index := make([]int32, d.NumItems()) // in m, -1: unknown
	for i, id := range d.Items {
		index[i] = -1
		if at, known := m.ItemIndex(id); known {
			index[i] = at
		}
	}
	popularity := make([]float32, m.NumItems())
	for i := range popularity {
		popularity[i] = float32(m.Degree(int32(i)))
	}
	hits := make([]float64, len(t.Users))
	parallel.TasksWith(len(hits), func() func(i int) {
		scores, q := make([]float32, m.NumItems()), make([]float32, m.Rank())
		return func(i int) {
			known := events(d, int(t.Users[i]), index)
			by, seen := popularity, make([]int32, len(known))
			for j, e := range known {
				seen[j] = e.Item
			}
			if len(known) > 0 {
				s := m.NewState()
				for _, e := range known {
					m.Fold(s, e)
				}
				m.QueryTo(q, s, est)
				m.ScoresTo(scores, q)
				by = scores
			}
			if rank(by, index[t.Items[i]], seen) <= int32(n) {
				hits[i] = 1
			}
		}
	})
	return hits
}

// events are those of user u on items that have an index of 0 or more, with that index.
func events(d *dataset.Interactions, u int, index []int32) model.History {
	var h model.History
	for j := d.Ptr[u]; j < d.Ptr[u+1]; j++ {
		i := index[d.Item[j]]
		if i < 0 {
			continue
		}
		e := model.Event{Item: i, Weight: 1}
		if d.Time != nil {
			e.Time = d.Time[j]
		}
		if d.Weight != nil {
			e.Weight = min(d.Weight[j], model.MaxWeight)
		}
		h = append(h, e)
	}
	return h
}
