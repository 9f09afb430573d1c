package items

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// appendByPrefix finds the ids that a comparison of each id with the prefix finds.
func TestAppendByPrefix(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var ids []string
		for range rng.IntN(40) {
			ids = append(ids, fmt.Sprintf("%b", rng.IntN(200)))
		}
		slices.Sort(ids)
		ids = slices.Compact(ids)
		from := rng.IntN(len(ids) + 1)
		prefix, n := fmt.Sprintf("%b", rng.IntN(20)), rng.IntN(8)
		if rng.IntN(4) == 0 {
			prefix = ""
		}
		want := []string{"before"}
		for _, id := range ids[from:] {
			if strings.HasPrefix(id, prefix) && len(want) <= n {
				want = append(want, id)
			}
		}
		got := appendByPrefix([]string{"before"}, func(i int32) string { return ids[i] },
			int32(from), int32(len(ids)), prefix, n)
		check.MustSame(t, want, got, "%d of %v from %d on that begin with %q", n, ids, from, prefix)
	}
}
