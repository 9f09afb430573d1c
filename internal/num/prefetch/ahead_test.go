package prefetch_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gsimc/gsimc/internal/num/prefetch"
)

// TestAhead writes down in which order elements begin and have their turn.
func TestAhead(t *testing.T) {
	var log []string
	begin := func(name string, distance int) prefetch.Stage {
		write := func(i int) { log = append(log, fmt.Sprint(name, i)) }
		return prefetch.Stage{Distance: distance, Begin: write}
	}
	for _, test := range []struct {
		n      int
		stages []prefetch.Stage
		want   []string
	}{
		{0, []prefetch.Stage{begin("a", 2)}, nil},
		{2, nil, []string{"turn0", "turn1"}},
		{1, []prefetch.Stage{begin("a", 3), begin("b", 1)}, []string{"a0", "b0", "turn0"}},
		{4, []prefetch.Stage{begin("a", 2), begin("b", 1)},
			[]string{"a0", "a1", "b0", "a2", "b1", "turn0", "a3", "b2", "turn1", "b3", "turn2",
				"turn3"}},
		{3, []prefetch.Stage{begin("b", 1), begin("a", 2)},
			[]string{"a0", "b0", "a1", "b1", "a2", "turn0", "b2", "turn1", "turn2"}},
	} {
		log = nil
		for i := range prefetch.Ahead(test.n, test.stages...) {
			log = append(log, fmt.Sprint("turn", i))
		}
		if !slices.Equal(log, test.want) {
			t.Errorf("%d elements, %d stages: got %v, want %v", test.n, len(test.stages), log,
				test.want)
		}
	}
}

func TestAheadEndsEarly(t *testing.T) {
	begun := 0
	for i := range prefetch.Ahead(10, prefetch.Stage{Distance: 3, Begin: func(int) { begun++ }}) {
		if i == 2 {
			break
		}
	}
	if begun != 6 {
		t.Errorf("%d elements begun, want the 3 that had their turn and 3 more", begun)
	}
}

func TestAheadAllocatesNothing(t *testing.T) {
	l := newLists(100, 10)[0]
	if n := testing.AllocsPerRun(10, func() { total = l.sumAhead() }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// A list is a row of pointers to nodes that lie scattered. The value of a node lies in its next
// one.
type list []*node

type node struct {
	next  *node
	value uint64
	_     [6]uint64 // a cache line for each node
}

// newLists returns lists of the given length, of n elements together.
func newLists(n, length int) []list {
	nodes, leaves := make([]node, n), make([]node, n)
	all := make(list, n)
	for i, at := range rand.New(rand.NewPCG(1, 1)).Perm(n) {
		leaf := &leaves[n-1-at]
		leaf.value = uint64(i)
		nodes[at].next = leaf
		all[i] = &nodes[at]
	}
	return slices.Collect(slices.Chunk(all, length))
}

const nodeAhead, leafAhead = 8, 4

func (l list) sumAhead() (sum uint64) {
	for i := range prefetch.Ahead(len(l),
		prefetch.Stage{Distance: nodeAhead, Begin: func(i int) { prefetch.Value(l[i]) }},
		prefetch.Stage{Distance: leafAhead, Begin: func(i int) { prefetch.Value(l[i].next) }},
	) {
		sum += l[i].next.value
	}
	return sum
}

// sumByHand is the loop that Ahead replaces.
func (l list) sumByHand() (sum uint64) {
	for i := -nodeAhead; i < len(l); i++ {
		if at := i + nodeAhead; at < len(l) {
			prefetch.Value(l[at])
		}
		if at := i + leafAhead; at >= 0 && at < len(l) {
			prefetch.Value(l[at].next)
		}
		if i >= 0 {
			sum += l[i].next.value
		}
	}
	return sum
}

var total uint64

// BenchmarkAhead sums lists of 256 elements, in memory and in the cache, by Ahead and by a loop
// written by hand.
func BenchmarkAhead(b *testing.B) {
	for _, n := range []int{1 << 20, 256} {
		lists := newLists(n, 256)
		for name, sum := range map[string]func(list) uint64{
			"hand": list.sumByHand, "ahead": list.sumAhead,
		} {
			b.Run(fmt.Sprintf("elements=%d/loop=%s", n, name), func(b *testing.B) {
				b.ReportAllocs()
				for i := range b.N {
					total = sum(lists[i%len(lists)])
				}
			})
		}
	}
}
