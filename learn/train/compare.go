package train

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/internal/num/stat"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model"
)

// RecentUsers returns up to n users, ascending, that have two items or more and were active after
// the given time. Of the 4·n users among them with the latest last events, the n with the smallest
// hashes of their ids are taken. So the choice is recent, is not made of the users of one hour, and
// does not change from call to call. Without times all users count as recent.
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
	byHash := func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.user, b.user))
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.last, a.last), byHash(a, b))
	})
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

// Comparison tells how well two models foresee the next items of the same users.
type Comparison struct {
	OldVersion string `json:"old_version"` // of the old model
	Users      int    `json:"users"`       // users with a target that both models know
	LeftOut    int    `json:"left_out"`    // users with another target
	N          int    `json:"n"`           // length of the lists

	// Recall@N is the share of the users whose target is among the first N items.
	Old    float64 `json:"old"`
	OldErr float64 `json:"old_stderr"`
	New    float64 `json:"new"`
	NewErr float64 `json:"new_stderr"`

	// Difference is New − Old. Its standard error is that of the mean difference over the same
	// users, which is below the standard error that OldErr and NewErr would give for different
	// users.
	Difference    float64 `json:"difference"`
	DifferenceErr float64 `json:"difference_stderr"`

	Worse bool `json:"worse"` // New is below Old by more than one standard error of the difference
}

// Targets are users with the items of the events after their histories.
type Targets struct {
	Users []int32 // indices of Interactions.Users
	Items []int32 // indices of Interactions.Items

	Hidden func(id string) bool // items that no list has; nil: none
}

// Compare ranks the target of each user by both models. The state is that after the user's history
// in d, and the candidates are all items that the model knows and the history has not. A user whose
// history has no item that a model knows is ranked by popularity. est is the estimator of both
// models.
//
// Only targets that both models know count. An item that is newer than the old model would be a
// certain miss of that model. A server, however, extends its model by such items, and they would
// hide that the new model is worse on all others. Where no target is left, all figures are 0.
//
// Hidden items are no candidates, and no targets: it is as if their users had none.
func Compare(
	old, fresh *model.Model, est model.Estimator, d *dataset.Interactions, t Targets, n int,
) Comparison {
	t = t.shown(d)
	all := len(t.Users)
	t = t.knownTo(d, old, fresh)
	before, after := hitsAt(old, est, d, t, n), hitsAt(fresh, est, d, t, n)
	c := Comparison{
		OldVersion: old.Version(), Users: len(t.Users), LeftOut: all - len(t.Users), N: n,
	}
	c.Old, c.OldErr = stat.Mean(before)
	c.New, c.NewErr = stat.Mean(after)
	c.Difference, c.DifferenceErr = stat.Mean(stat.Difference(after, before))
	c.Worse = c.Difference < -c.DifferenceErr
	return c
}

// knownTo returns the targets with items that all models know.
func (t Targets) knownTo(d *dataset.Interactions, models ...*model.Model) Targets {
	return t.without(d, func(id string) bool {
		return slices.ContainsFunc(models, func(m *model.Model) bool {
			_, known := m.ItemIndex(id)
			return !known
		})
	})
}

// shown returns the targets with items that are not hidden.
func (t Targets) shown(d *dataset.Interactions) Targets {
	if t.Hidden == nil {
		return t
	}
	return t.without(d, t.Hidden)
}

func (t Targets) without(d *dataset.Interactions, dropped func(id string) bool) Targets {
	kept := Targets{Hidden: t.Hidden}
	for k, i := range t.Items {
		if !dropped(d.Items[i]) {
			kept.Users, kept.Items = append(kept.Users, t.Users[k]), append(kept.Items, i)
		}
	}
	return kept
}

// hitsAt returns 1 for each target among the first n items and 0 for the others. The model must
// know all targets.
func hitsAt(
	m *model.Model, est model.Estimator, d *dataset.Interactions, t Targets, n int,
) []float64 {
	index := make([]int32, d.NumItems()) // in m, -1: unknown
	for i, id := range d.Items {
		index[i] = -1
		if at, known := m.ItemIndex(id); known {
			index[i] = at
		}
	}
	popularity := make([]float32, m.NumItems())
	for i, users := range m.Degrees() {
		popularity[i] = float32(users)
	}
	hidden := ranking.NewSet(m.NumItems())
	for i := int32(0); t.Hidden != nil && int(i) < m.NumItems(); i++ {
		if t.Hidden(m.ItemID(i)) {
			hidden.Add(i)
		}
	}
	hits := make([]float64, len(t.Users))
	parallel.TasksWith(len(hits), func() func(i int) {
		scores, q := make([]float32, m.NumItems()), m.NewQuery()
		seen := ranking.NewSet(m.NumItems())
		return func(i int) {
			known := events(d, int(t.Users[i]), index)
			by := popularity
			seen.Clear()
			seen.AddAll(hidden)
			for _, e := range known {
				seen.Add(e.Item)
			}
			if len(known) > 0 {
				m.QueryTo(q, m.StateOf(known), est)
				m.ScoresTo(scores, q)
				by = scores
			}
			if ranking.Of(by, index[t.Items[i]], seen) <= n {
				hits[i] = 1
			}
		}
	})
	return hits
}

// events returns the events of user u on items with an index of 0 or more, under that index.
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
			e.Weight = min(d.Weight[j], event.MaxWeight)
		}
		h = append(h, e)
	}
	return h
}
