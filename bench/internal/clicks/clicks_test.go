package clicks

import (
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

func TestDraw(t *testing.T) {
	c := Config{Users: 3000, Items: 800, Ones: 60_000, Seed: 7}
	r := Draw(c)
	check.Must(t, r.Validate())
	if r.NumUsers() != c.Users || math.Abs(float64(len(r.Item))/float64(c.Ones)-1) > 0.1 {
		t.Errorf("%d users and %d ones, want %d and about %d", r.NumUsers(), len(r.Item), c.Users,
			c.Ones)
	}
	for u := range r.NumUsers() {
		if items := r.Item[r.Ptr[u]:r.Ptr[u+1]]; len(items) == 0 || !slices.IsSorted(items) {
			t.Fatalf("user %d has the items %v, want at least one and in order", u, items)
		}
	}
	degrees := r.Degrees()
	if head, tail := degrees[0], degrees[c.Items-1]; head < 5*tail {
		t.Errorf("the first item has %d users and the last %d, want a power law", head, tail)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	check.Same(t, r, Draw(c), "data by another number of processors")
	c.Seed++
	if slices.Equal(r.Item, Draw(c).Item) {
		t.Error("another seed gives the same data")
	}
}
