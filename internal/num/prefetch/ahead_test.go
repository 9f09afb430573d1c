package prefetch_test

import (
	"fmt"
	"testing"

	"github.com/gsimc/gsimc/internal/num/prefetch"
	"github.com/gsimc/gsimc/internal/test/check"
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
		check.Same(t, test.want, log, "%d elements, %d stages", test.n, len(test.stages))
	}
}

func TestAheadEndsEarly(t *testing.T) {
	begun := 0
	for i := range prefetch.Ahead(10, prefetch.Stage{Distance: 3, Begin: func(int) { begun++ }}) {
		if i == 2 {
			break
		}
	}
	check.Same(t, 6, begun, "elements begun")
}

func TestAheadAllocatesNothing(t *testing.T) {
	values, sum := make([]int, 100), 0
	fetch := func(i int) { prefetch.Value(&values[i]) }
	if n := testing.AllocsPerRun(10, func() {
		stage := prefetch.Stage{Distance: 8, Begin: fetch}
		for i := range prefetch.Ahead(len(values), stage, stage) {
			sum += values[i]
		}
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
