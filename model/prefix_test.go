package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// The items with a prefix are those that a look at all ids finds, those of an extension among them.
func TestItemsByPrefix(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var base, more []string
		for range rng.IntN(40) {
			id := fmt.Sprintf("%b", rng.IntN(200))
			if slices.Contains(base, id) || slices.Contains(more, id) {
				continue
			}
			if rng.IntN(3) > 0 {
				base = append(base, id)
			} else {
				more = append(more, id)
			}
		}
		slices.Sort(base)
		slices.Sort(more)
		m := &Model{n: len(base), table: table{ids: base}}
		if rng.IntN(2) == 0 {
			m.extension = &extension{table: table{ids: more}}
		} else {
			more = nil
		}
		prefix, n := fmt.Sprintf("%b", rng.IntN(20)), rng.IntN(8)
		if rng.IntN(4) == 0 {
			prefix = ""
		}
		var want []string
		for _, id := range slices.Sorted(slices.Values(append(slices.Clone(base), more...))) {
			if strings.HasPrefix(id, prefix) && len(want) < n {
				want = append(want, id)
			}
		}
		var got []string
		for _, i := range m.ItemsByPrefix(prefix, n) {
			got = append(got, m.ItemID(i))
		}
		check.MustSame(t, want, got, "%d items of %v and %v that begin with %q", n, base, more,
			prefix)
	}
}
