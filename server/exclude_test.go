package server

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// However the list is ranked, a filter leaves the order of the rest as it is, and nothing of it
// stays for the next request.
func TestFiltersLeaveTheOrder(t *testing.T) {
	ts := startLearned(t, true)
	for _, i := range []int{4, 9, 20} {
		ts.observe(t, newEvent("ann", i))
	}
	for name, ask := range map[string]func() *pb.RecommendRequest{
		"by score": func() *pb.RecommendRequest {
			return exploring(forUser("ann"),
				nil, testItems)
		},
		"popular": func() *pb.RecommendRequest {
			return exploring(forUser("nobody"),
				nil, testItems)
		},
		"draw": func() *pb.RecommendRequest {
			return exploring(forUser("ann"),
				thompson(3, 1), testItems)
		},
		"upper confidence": func() *pb.RecommendRequest {
			return exploring(forUser("ann"),
				upperConfidence(2), testItems)
		},
		"upper confidence, prior": func() *pb.RecommendRequest {
			return exploring(forUser("nobody"),
				upperConfidence(2), testItems)
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := itemIDs(ts.ask(t, ask()))
			for _, allow := range [][]string{{item(4)},
				{item(17), item(3), item(3), item(28), item(9)}, all[5:], {"unknown"}} {
				for _, deny := range [][]string{nil, {item(3), item(17)}, all[:20], {"unknown"}} {
					req := ask()
					req.Filter = &pb.ItemFilter{AllowItemIds: allow, DenyItemIds: deny}
					want := slices.DeleteFunc(slices.Clone(all), func(id string) bool {
						return !slices.Contains(allow, id) || slices.Contains(deny, id)
					})
					same(t, want, append([]string{}, itemIDs(ts.ask(t, req))...),
						"allowed %v, denied %v", allow, deny)
				}
			}
			if d := cmp.Diff(all, itemIDs(ts.ask(t, ask()))); d != "" {
				t.Errorf("the list after the filters (-before +after):\n%s", d)
			}
		})
	}
}
