package tally

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/trend"
	"github.com/gsimc/gsimc/server/internal/servertest"
)

const items = servertest.Items // of the model; three more are unknown to it

func newTally(t testing.TB, halfLife float64) *Tally {
	t.Helper()
	return New(servertest.BuildModel(t, 1, servertest.Item, func(s *model.Spec) {
		s.Trend = trend.Spec{HalfLife: halfLife, Span: 10, Gain: 1}
	}))
}

// event is one of a user.
type event struct {
	item int
	time int64
}

func (t *Tally) count(user string, history []event) {
	h := t.History(user)
	for _, e := range history {
		h.Add(servertest.Item(e.item), e.time)
	}
	h.Count()
}

// oracle counts the first events of these histories.
func oracle(t *Tally, histories map[string][]event) *trend.Counts {
	var c trend.Counts
	for _, user := range slices.Sorted(maps.Keys(histories)) {
		seen := map[int]bool{}
		for _, e := range histories[user] {
			if !seen[e.item] {
				c.Add(t.spec.SpanOf(e.time), t.number(servertest.Item(e.item)), 1)
			}
			seen[e.item] = true
		}
	}
	return &c
}

func randomHistory(rng *rand.Rand) []event {
	h := make([]event, rng.IntN(12))
	at := int64(rng.IntN(1000))
	for j := range h {
		h[j] = event{rng.IntN(items + 3), at}
		at += int64(rng.IntN(40))
	}
	return h
}

// Whatever is read in whatever order, the counts are those of the histories as they are.
func TestCountsFollowHistories(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	tally, histories := newTally(t, 50), map[string][]event{}
	for range 2000 {
		user := fmt.Sprint("u", rng.IntN(60))
		switch rng.IntN(4) {
		case 0:
			delete(histories, user)
		case 1:
			histories[user] = randomHistory(rng)
		default:
			n := len(histories[user])
			histories[user] = append(histories[user][:n:n], event{rng.IntN(items), 1000})
		}
		tally.count(user, histories[user])
	}
	for span := range int64(101) {
		got := tally.counts.RatesAfter(span, 50, items+3)
		want := oracle(tally, histories).RatesAfter(span, 50, items+3)
		if d := cmp.Diff(want, got, cmp.AllowUnexported(trend.Rates{})); d != "" {
			t.Fatalf("after span %d (-want +got):\n%s", span, d)
		}
	}
	for user := range histories {
		tally.count(user, nil)
	}
	if tally.entries != 0 || len(tally.users) != 0 || tally.counts.Later(-1) != 0 ||
		len(tally.others.numbers) != 0 {
		t.Errorf("without histories %d events of %d users are counted", tally.entries,
			len(tally.users))
	}
}

// When the room is used up, faded events go first, and then half of the users: the others are
// counted as if they were all.
func TestRoomIsBounded(t *testing.T) {
	for name, halfLife := range map[string]float64{"faded": 5, "users": 1000} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(7, 8))
			tally, histories := newTally(t, halfLife), map[string][]event{}
			tally.most = 500
			for u := range 300 {
				user := fmt.Sprint("u", u)
				histories[user] = randomHistory(rng)
				for j := range histories[user] {
					histories[user][j].time += int64(100 * u)
				}
				tally.count(user, histories[user])
				if tally.entries > tally.most {
					t.Fatalf("%d events are counted, want at most %d", tally.entries, tally.most)
				}
			}
			if halved := tally.halved > 0; halved != (name == "users") {
				t.Errorf("the users were halved %d times", tally.halved)
			}
			maps.DeleteFunc(histories, func(user string, h []event) bool {
				return !sampled(user, tally.halved)
			})
			last := tally.spec.SpanOf(40_000)
			halved := math.Ldexp(halfLife, -tally.halved)
			got := tally.counts.RatesAfter(last, tally.halfLife(), items)
			want := oracle(tally, histories).RatesAfter(last, halved, items)
			for i := range int32(items) {
				// of each of eight half-lives that have gone less than one event in 256 is left
				if d := want.Item(i) - got.Item(i); d < 0 || d > 0.2 {
					t.Errorf("item %d: %v, want %v", i, got.Item(i), want.Item(i))
				}
			}
		})
	}
}

// A model with a power and no gain has trends: its snapshots hold factors.
func TestFactorsAreCounted(t *testing.T) {
	spec := trend.Spec{HalfLife: 30, Span: 10, Power: 1}
	tally := New(servertest.BuildModel(t, 1, servertest.Item, func(s *model.Spec) {
		s.Trend = spec
	}))
	check.Same(t, 1, tally.Shards(1_000_000), "shards of users in the trends")
	for u := range 10 {
		tally.count(fmt.Sprint(u), []event{{3, 55}})
	}
	s := tally.Snapshot(tally.base, 5)
	if tally.spec != spec || s.Factors == nil || !(s.Factors[3] > 1) {
		t.Errorf("with %+v the factors are %v, want the one of item 3 above 1", tally.spec, s.Factors)
	}
}

// Events that a snapshot comes too early for make the next one due, and nothing else does.
func TestSnapshotsAreDue(t *testing.T) {
	tally := newTally(t, 30)
	tally.count("ann", []event{{3, 55}})
	for i, step := range []struct {
		after int64
		due   bool
	}{{4, true}, {5, false}} {
		if !tally.Due() {
			t.Errorf("step %d: no snapshot is due", i)
		}
		s := tally.Snapshot(tally.base, step.after)
		if !tally.Due() {
			t.Errorf("step %d: no snapshot is due, though none was published", i)
		}
		tally.Published(tally.base, step.after)
		if rises := s.G[3] > s.G[4]; rises == step.due || tally.Due() != step.due {
			t.Errorf("step %d: the item rises: %v, the next snapshot is due: %v", i, rises,
				tally.Due())
		}
	}
	if tally.count("ann", []event{{3, 55}}); tally.Due() {
		t.Error("a user who is as before makes a snapshot due")
	}
	for u := range 60 {
		tally.count(fmt.Sprint(u), []event{{3, 55}})
	}
	tally.Published(tally.base, 5)
	if tally.count("ann", nil); !tally.Due() {
		t.Error("a user who has gone makes no snapshot due")
	}
}

// A snapshot is outdated when users were read too late for it, or when a new item turns out to have
// other users than it was taken to have.
func TestSnapshotsAreOutdated(t *testing.T) {
	tally := newTally(t, 60)
	tally.count("ann", []event{{3, 55}})
	if tally.Outdated(tally.base) {
		t.Error("outdated without a snapshot")
	}
	many, few := extendedBy(t, tally.base, 1000), extendedBy(t, tally.base, 1)
	tally.Published(many, 5)
	if tally.Outdated(many) || !tally.Outdated(few) {
		t.Errorf("outdated: %t with the same shares, %t with others", tally.Outdated(many),
			tally.Outdated(few))
	}
	for u, late := range []int64{65, 65, 65, 55, 55} { // those of the span after it are not
		tally.count(fmt.Sprint(u), []event{{3, late}})
		if u < 4 == tally.Outdated(many) {
			t.Errorf("outdated: %t after %d users", tally.Outdated(many), u+1)
		}
	}
}

// extendedBy is a base with a new item of these users.
func extendedBy(t *testing.T, base *model.Model, users float64) *model.Model {
	t.Helper()
	e := check.Get(base.NewEvidence([]string{"new"}, nil))(t)
	e.Add([]int32{0, 1, 2, int32(base.NumItems())})
	return check.Get(base.Extend([]model.NewItem{check.Get(e.Place(0, users))(t)}))(t)
}

// Items that nobody has any more leave their numbers to others.
func TestNumbersAreUsedAgain(t *testing.T) {
	tally := newTally(t, 1000)
	for round := range 20 {
		history := make([]event, 50)
		for j := range history {
			history[j] = event{items + 50*round + j, 55}
		}
		tally.count("ann", history)
		tally.count("ann", history[:25])
	}
	if n := len(tally.others.items); n > 100 {
		t.Errorf("%d numbers of other items, of which 25 are used", n)
	}
	tally.count("ann", nil)
	if len(tally.others.numbers) > 0 {
		t.Errorf("%v have numbers, and no events", tally.others.numbers)
	}
}

// Users beyond the bound are left out by halves, so that those left are a sample of all.
func TestPendingIsBounded(t *testing.T) {
	p := NewPending()
	const users, atOnce = 3 * maxPending, 1000
	for u := range users {
		p.Add(fmt.Sprint("user-", u))
	}
	p.Halve(1) // is no change
	taken := 0
	for {
		some, halved := p.Take(atOnce)
		if taken += len(some); len(some) == 0 {
			break
		}
		for user := range some {
			if halved != 2 || !sampled(user, halved) || len(some) > atOnce {
				t.Fatalf("%s of %d is taken after %d halvings", user, len(some), halved)
			}
		}
	}
	if taken < users/5 || taken > users*3/10 {
		t.Errorf("%d of %d users wait", taken, users)
	}
}

// BenchmarkTally counts a million first events, and reports the memory that these take and the time
// of a snapshot.
func BenchmarkTally(b *testing.B) {
	for _, bench := range []struct {
		name          string
		perUser, span int
	}{{"ten a user, a thousand a span", 10, 1000}, {"each alone", 1, 1}} {
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				tally := newTally(b, maxEntries)
				before := heap()
				for e := 0; e < maxEntries; e += bench.perUser {
					history := make([]event, bench.perUser)
					for j := range history {
						history[j] = event{(e + j) % items, int64((e + j) / bench.span * 10)}
					}
					tally.count(fmt.Sprint("user-", e), history)
				}
				b.ReportMetric(float64(heap()-before)/(1<<20), "MiB")
				began := time.Now()
				tally.Snapshot(tally.base, math.MaxInt64)
				b.ReportMetric(float64(time.Since(began).Milliseconds()), "ms/snapshot")
			}
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A new item of late is compared with what has come since it has, not with the whole window.
func TestNewItemsRise(t *testing.T) {
	tally := newTally(t, 50)
	base := tally.base
	m := extendedBy(t, base, float64(base.NumTrainUsers())/2)
	const spans, late = 200, 10 // of the spans, with one event before the new item comes, else two
	for u := range spans {
		h := tally.History(fmt.Sprint(u))
		h.Add(servertest.Item(u%items), int64(10*u))
		if u >= spans-late {
			h.Add("new", int64(10*u))
		}
		h.Count()
	}
	s := tally.Snapshot(m, spans-1)
	var r, all, since, trained float64
	followed := 0.
	for u := spans - 1; u >= 0; u-- {
		weight, events := math.Exp2(-followed/50), 1.
		if u >= spans-late {
			events = 2
			r, since = r+weight, since+2*weight
		}
		all, followed = all+events*weight, followed+events
	}
	for i := range int32(m.NumItems()) {
		trained += float64(m.Degree(i))
	}
	at := len(s.G) - 1
	share := float64(m.Degree(int32(at))) / trained
	want := math.Log((r + trend.Prior) / (since*share + trend.Prior))
	if math.Abs(float64(s.G[at])-want) > 1e-3 || s.Exposed[0] != float32(since/all) {
		t.Errorf("g is %v after %v of the events, want %v and %v", s.G[at], s.Exposed, want, since/all)
	}
}

// Who is told of while another tally inherits is not lost: an erased user would count for good.
func TestHeirsKnowWhoWaits(t *testing.T) {
	before, heir := newTally(t, 400), newTally(t, 400)
	before.count("counted", []event{{1, 1}})
	told := before.Pending
	told.Add("early")
	exact := heir.Inherit(before)
	told.Add("late")
	if !exact || heir.Pending.Len() != 2 || len(before.users) > 0 || len(heir.users) != 1 {
		t.Errorf("exact %t, and %d users wait, want 2; %d and %d count, want none and one", exact,
			heir.Pending.Len(), len(before.users), len(heir.users))
	}
	heir.Restart()
	told.Add("later")
	check.Same(t, 1, heir.Pending.Len(), "who waits after what a search meets")
}
