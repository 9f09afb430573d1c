// Package clicks draws user-item matrices of any size whose item graph is hard for eigensolvers: a
// few large eigenvalues of popular items and genres, and then a long bulk that falls slowly.
package clicks

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sort"
	"sync"

	"github.com/gsimc/gsimc/spectral"
)

// Config says what to draw.
type Config struct {
	Users, Items int
	Ones         int // interactions in all, about
	Seed         uint64
}

// The shape of the data: popularity falls as rank^−exponent, every item has a genre, and every user
// draws most items from a few genres and the rest from everywhere.
const (
	genres        = 100
	genresOfUser  = 4
	exponent      = 0.8
	headItems     = 50  // first items, about equally popular
	shareOfGenres = 0.7 // of a user's items
	activitySD    = 1.0 // of the logarithm of the number of items
	blockOfUsers  = 1024
)

// Draw returns the matrix. Every user has at least one item and no item twice. The result depends
// on c alone.
func Draw(c Config) *spectral.Incidence {
	d := newDrawer(c)
	blocks := make([][][]int32, (c.Users+blockOfUsers-1)/blockOfUsers)
	var wg sync.WaitGroup
	next := make(chan int, len(blocks))
	for i := range blocks {
		next <- i
	}
	close(next)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			taken := make([]bool, c.Items)
			for i := range next {
				blocks[i] = d.block(i, taken)
			}
		})
	}
	wg.Wait()
	r := &spectral.Incidence{
		NumItems: c.Items,
		Ptr:      make([]int64, 1, c.Users+1),
		Item:     make([]int32, 0, c.Ones+c.Ones/8),
	}
	for _, b := range blocks {
		for _, user := range b {
			r.Item = append(r.Item, user...)
			r.Ptr = append(r.Ptr, int64(len(r.Item)))
		}
	}
	return r
}

// drawer holds the sums of popularity from which items are drawn by bisection.
type drawer struct {
	Config
	all      []float64         // of all items, cumulative
	genre    [genres][]int32   // items
	genreSum [genres][]float64 // cumulative
	mean     float64           // of the logarithm of the number of items of a user
}

func newDrawer(c Config) *drawer {
	if c.Items < genres || c.Users < 1 || c.Ones < c.Users || c.Ones > c.Users*c.Items/4 {
		panic(fmt.Sprintf("clicks: %d users, %d items and %d ones", c.Users, c.Items, c.Ones))
	}
	d := &drawer{
		Config: c,
		mean:   math.Log(float64(c.Ones)/float64(c.Users)) - activitySD*activitySD/2,
	}
	rng := rand.New(rand.NewPCG(c.Seed, 0))
	total := 0.0
	for rank := range c.Items { // an item's index is its rank: eigensolvers do not care
		weight := math.Pow(float64(rank+headItems), -exponent)
		total += weight
		d.all = append(d.all, total)
		g := rng.IntN(genres)
		before := 0.0
		if n := len(d.genreSum[g]); n > 0 {
			before = d.genreSum[g][n-1]
		}
		d.genre[g] = append(d.genre[g], int32(rank))
		d.genreSum[g] = append(d.genreSum[g], before+weight)
	}
	return d
}

// block draws the users of a block with a generator of its own. taken has no item set, before and
// after.
func (d *drawer) block(i int, taken []bool) [][]int32 {
	rng := rand.New(rand.NewPCG(d.Seed, uint64(i)+1))
	users := make([][]int32, min(blockOfUsers, d.Users-i*blockOfUsers))
	for u := range users {
		users[u] = d.user(rng, taken)
	}
	return users
}

func (d *drawer) user(rng *rand.Rand, taken []bool) []int32 {
	var mine [genresOfUser]int
	for i := range mine {
		mine[i] = rng.IntN(genres)
	}
	want := int(math.Exp(d.mean+activitySD*rng.NormFloat64()) + rng.Float64())
	want = min(max(want, 1), d.Items/4)
	items := make([]int32, 0, want)
	for tries := 0; len(items) < want && tries < 20*want; tries++ {
		var item int32
		if g := mine[rng.IntN(genresOfUser)]; rng.Float64() < shareOfGenres && len(d.genre[g]) > 0 {
			item = d.genre[g][pick(rng, d.genreSum[g])]
		} else {
			item = int32(pick(rng, d.all))
		}
		if !taken[item] {
			taken[item] = true
			items = append(items, item)
		}
	}
	for _, item := range items {
		taken[item] = false
	}
	slices.Sort(items)
	return items
}

// pick draws an index by the cumulative weights.
func pick(rng *rand.Rand, sums []float64) int {
	return min(sort.SearchFloat64s(sums, rng.Float64()*sums[len(sums)-1]), len(sums)-1)
}
