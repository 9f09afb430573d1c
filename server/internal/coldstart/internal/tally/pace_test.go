package tally

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/servertest"
)

// The pace is that of all events, from the span of a time on, whether all users count or a sample of
// them; of times before those that count it is taken to be the same.
func TestPaceOfSamples(t *testing.T) {
	const users, end = 3000, 30_000
	for name, most := range map[string]int{"all": maxEntries, "sample": 4000} {
		rng := rand.New(rand.NewPCG(9, 10))
		tally := newTally(t, 400)
		tally.most = most
		var times []int64
		for u := range users {
			var h []event
			for i := range 5 {
				h = append(h, event{i, rng.Int64N(end)})
				times = append(times, h[i].time)
			}
			tally.count(fmt.Sprint("u", u), h)
		}
		if name == "sample" && (tally.halved == 0 || tally.oldest < 500) {
			t.Fatalf("%d times halved, and all from span %d on counts", tally.halved, tally.oldest)
		}
		p := tally.Pace()
		for _, since := range []int64{-5, 0, 1234, end / 2, end - 500, end + 10} {
			want := 0.
			for _, at := range times {
				if at >= since-since%10 {
					want++
				}
			}
			got := math.Ldexp(p.eventsSince(since), p.halved)
			if name == "all" && got != want ||
				math.Abs(got-want) > 0.2*want+3*math.Sqrt(want*math.Ldexp(1, p.halved)) {
				t.Errorf("%s: %v events from %d on, want %v", name, got, since, want)
			}
			if e, d := p.Expected(7, since, 0), tally.trained.Expected(7, got, 0); e != d {
				t.Errorf("%s: %v users are expected, want %v", name, e, d)
			}
		}
	}
}

// Of a base without trends a part of the users is enough, however many the store has.
func TestSampleForAges(t *testing.T) {
	tally := New(servertest.NewModel(t, 1))
	check.Same(t, 1, tally.Shards(1000), "shards of a small store")
	shards := tally.Shards(1_000_000)
	tally.count("user", []event{{1, 1}})
	if counted := tally.entries > 0; shards != 256 || counted != sampled("user", 8) {
		t.Errorf("one user of %d counts, want one of 256", shards)
	}
	check.Same(t, 1, newTally(t, 10).Shards(1_000_000), "shards of users in the trends")
}
