package prefetch

import "iter"

// A Stage is one step of loading an element. Begin(i) begins to load a part of element i while the
// element Distance places before it has its turn.
//
// A part that is found by way of another needs a stage of its own with a smaller distance. A good
// distance, which is at least 1, is long enough to hide the latency of the memory, and so short
// that the part is still in the cache when its turn comes.
type Stage struct {
	Distance int
	Begin    func(i int)
}

// Ahead yields 0, 1, …, n-1. Before it yields i, each stage has begun every element up to i +
// Distance, once and in order. Stages that are due at the same time are called in the order in
// which they are given. A loop over Ahead that ends early may leave elements begun. Nothing is
// allocated.
func Ahead(n int, stages ...Stage) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := -longest(stages); i < n; i++ {
			for _, s := range stages {
				if at := i + s.Distance; 0 <= at && at < n {
					s.Begin(at)
				}
			}
			if i >= 0 && !yield(i) {
				return
			}
		}
	}
}

// longest returns the largest distance of the stages.
func longest(stages []Stage) int {
	distance := 0
	for _, s := range stages {
		distance = max(distance, s.Distance)
	}
	return distance
}
