package parallel

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// atEach runs a test with several numbers of processors.
func atEach(t *testing.T, test func(t *testing.T)) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, procs := range []int{1, 2, 3, 16} {
		runtime.GOMAXPROCS(procs)
		t.Run(fmt.Sprintf("procs=%d", procs), test)
	}
}

func TestStripsCoverOnceOnAnyProcessors(t *testing.T) {
	type strip struct{ Lo, Hi int }
	atEach(t, func(t *testing.T) {
		for _, tc := range []struct {
			n, strip int
			want     []strip
		}{
			{0, 4, nil},
			{1, 4, []strip{{0, 1}}},
			{4, 4, []strip{{0, 4}}},
			{9, 4, []strip{{0, 4}, {4, 8}, {8, 9}}},
			{3, 1, []strip{{0, 1}, {1, 2}, {2, 3}}},
		} {
			var got []strip
			var mu sync.Mutex
			Strips(tc.n, tc.strip, func(lo, hi int) {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, strip{lo, hi})
			})
			slices.SortFunc(got, func(a, b strip) int { return a.Lo - b.Lo })
			check.Same(t, tc.want, got, "%d in strips of %d", tc.n, tc.strip)
		}
	})
}

func TestTasksWithGivesEachWorkerItsOwn(t *testing.T) {
	atEach(t, func(t *testing.T) {
		const n = 1000
		done := make([]int, n)
		var mu sync.Mutex
		var counts []*int
		TasksWith(n, func() func(int) {
			mine := new(int) // no lock: it belongs to one worker
			mu.Lock()
			counts = append(counts, mine)
			mu.Unlock()
			return func(i int) {
				*mine++
				done[i]++
			}
		})
		sum := 0
		for _, c := range counts {
			sum += *c
		}
		if sum != n || len(counts) > runtime.GOMAXPROCS(0) {
			t.Errorf("%d parts done by %d workers, want %d by at most %d",
				sum, len(counts), n, runtime.GOMAXPROCS(0))
		}
		if i := slices.IndexFunc(done, func(d int) bool { return d != 1 }); i >= 0 {
			t.Errorf("part %d was done %d times", i, done[i])
		}
	})
}

func TestOneProcessorWorksInTheCallersGoroutine(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	before, during := runtime.NumGoroutine(), 0
	Tasks(5, func(int) { during = max(during, runtime.NumGoroutine()) })
	if during > before {
		t.Errorf("%d goroutines during the loop, %d before it", during, before)
	}
}
