package fit

import (
	"slices"

	"github.com/gsimc/gsimc/internal/num/parallel"
	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/model/local"
)

// The positions of validation users on which the local term is chosen.
const (
	wantedPositions = 6000 // in all, about
	userPositions   = 5    // last events of a user, at most: older ones say less of what is served
)

// LocalPositions is the number of positions that the local term is chosen on, at most, for a number
// of validation users.
func LocalPositions(users int) int {
	users = min(users, wantedPositions)
	return users * min(wantedPositions/max(users, 1), userPositions)
}

// Walker follows one user at a time by a model that is not finished.
type Walker interface {
	// Begin begins another user.
	Begin()

	// Fold takes in an event of the user.
	Fold(e kalman.Event)

	// Query returns the query after these events, in memory of its own: the spectrum and the local
	// term.
	Query() (spectrum []float32, boosts []ranking.Boost)

	// Score sets the scores of a position by a spectrum.
	Score(p *local.Position, spectrum []float32)

	// Rank answers requests, in one pass over the items.
	Rank(batch []ranking.Request)
}

// Local counts the local graph of items with these numbers of users and chooses its constants on
// the validation users, unless h says to keep them. The graph is nil if none is better. Each worker
// has a Walker of its own.
func (h *Histories) Local(
	degrees []int64, spec local.Spec, newWalker func() Walker,
) (local.Spec, *local.Graph) {
	tell := h.stage(StageLocal)
	if tell != nil {
		tell(0, 0)
	}
	if h.KeepLocal && spec.None() {
		return spec, nil
	}
	counts := h.successions(degrees, spec.Neighbours)
	if !h.KeepLocal {
		positions := positionsOf(h.Validation, len(degrees), counts, spec.Events, newWalker)
		spec = local.Choose(counts, positions, spec, tell).Spec
	}
	if spec.None() {
		return spec, nil
	}
	return spec, counts.Graph(&spec)
}

// positionsOf ranks all of n items before the last events of some of the users.
func positionsOf(
	histories []kalman.History, n int, counts *local.Successions, events int,
	newWalker func() Walker,
) []local.Position {
	chosen, last := sampleOf(histories, wantedPositions, userPositions)
	const together = 16 // positions that are ranked in one pass over the items, at most
	groups := slices.Collect(slices.Chunk(chosen, max(1, together/max(1, last))))
	found := make([][]local.Position, len(groups))
	parallel.TasksWith(len(groups), func() func(g int) {
		f, w := local.NewFinder(n, counts, events), newWalker()
		return func(g int) {
			var batch []ranking.Request
			for _, h := range groups[g] {
				w.Begin()
				f.Walk(h, last, func(_ int, p local.Position) {
					q, _ := w.Query()
					w.Score(&p, q)
					r := ranking.Request{Query: q, N: local.TopLength, Skip: ranking.NewSet(n)}
					r.Skip.AddAll(f.Seen)
					batch, found[g] = append(batch, r), append(found[g], p)
				}, w.Fold)
			}
			w.Rank(batch)
			for at := range batch {
				found[g][at].Top = batch[at].Top
			}
		}
	})
	return slices.Concat(found...)
}

// sampleOf returns evenly spaced histories, and the number of last events of each, up to most, that
// have the wanted number of positions or fewer.
func sampleOf(histories []kalman.History, wanted, most int) (chosen []kalman.History, last int) {
	users := min(len(histories), wanted)
	chosen = make([]kalman.History, users)
	for u := range chosen {
		chosen[u] = histories[u*len(histories)/users]
	}
	return chosen, min(wanted/max(users, 1), most)
}
