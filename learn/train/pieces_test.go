package train_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/dataset"
)

// shape says how many users [pieces] draws.
type shape struct {
	body      int // users of the body of items
	cliques   int // pieces of 4 to 8 items beside it
	perClique int // users of a piece, in the mean

	train, validation, test int // shares of the users with these roles
}

// The body of [pieces].
const (
	bodyItems   = 1200
	communities = 40
)

// pieces draws a catalogue of which a part falls into small dense pieces, as music and the shops of
// a long tail do. Most users walk through communities of the body. The users of a piece take most of
// it, and one in four of them an item of the body as well. The eigenvectors of the pieces are zero
// nearly everywhere, and so are their coordinates for nearly every user.
func pieces(t *testing.T, seed uint64, s shape) *dataset.Partition {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	d := &dataset.Interactions{Ptr: []int64{0}}
	bodyItem := func(community int) int32 {
		rank := rng.Float64()
		return int32(community + communities*int(rank*rank*bodyItems/communities))
	}
	for range s.body {
		mine, other := rng.IntN(communities), rng.IntN(communities)
		take := make([]int32, 3+rng.IntN(12))
		for j := range take {
			among := []int{mine, mine, mine, other, other, rng.IntN(communities)}
			take[j] = bodyItem(among[rng.IntN(len(among))])
		}
		addUser(d, take)
	}
	items := bodyItems
	for range s.cliques {
		size := 4 + rng.IntN(5)
		for range 1 + rng.IntN(2*s.perClique-1) {
			var take []int32
			for _, i := range rng.Perm(size)[:2+rng.IntN(size-1)] {
				take = append(take, int32(items+i))
			}
			if rng.IntN(4) == 0 {
				take = append(take, bodyItem(rng.IntN(communities)))
			}
			addUser(d, take)
		}
		items += size
	}
	for i := range items {
		d.Items = append(d.Items, fmt.Sprintf("i%06d", i))
	}
	split := make(dataset.Split, d.NumUsers())
	for u := range split {
		switch x := rng.IntN(s.train + s.validation + s.test); {
		case x < s.train:
			split[u] = dataset.Train
		case x < s.train+s.validation:
			split[u] = dataset.Validation
		default:
			split[u] = dataset.Test
		}
	}
	return check.Get(d.PartitionInPlace(split))(t)
}

// addUser adds a user with the different items of take, in order.
func addUser(d *dataset.Interactions, take []int32) {
	seen := map[int32]bool{}
	for _, i := range take {
		if !seen[i] {
			seen[i] = true
			d.Item = append(d.Item, i)
		}
	}
	d.Users = append(d.Users, fmt.Sprintf("u%06d", len(d.Users)))
	d.Ptr = append(d.Ptr, int64(len(d.Item)))
}
