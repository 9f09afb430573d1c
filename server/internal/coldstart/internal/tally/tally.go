// Package tally counts the first events of users on items, from their histories.
//
// What a user adds to the counts follows from the user's history alone, and the tally remembers it.
// So the tally only has to be told whose history is another one now, by an event, an erasure or a
// search of the store, in any order and as often as may be: the user is read again, and counts as
// the history is then.
//
// The tally is bounded. When there are more first events than it has room for, it lets go of those
// that have faded. If there are still too many, or if more users change than can be read, it goes
// on with half of the users, chosen by a hash of their ids, and with half of the half-life: among
// half of the events as many of them follow in the same time.
package tally

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/trend"
)

const (
	// maxEntries is the largest number of first events that are counted, and minEntries that of the
	// smallest room. BenchmarkTally says how much memory they take.
	maxEntries, minEntries = 1 << 20, 1 << 16

	// agesUsers are enough users of a store if a base has no trends: their events tell the ages of
	// new items alone. The smallest room does for these.
	agesUsers = 4096

	// longestSpan is that of a span, in seconds: more may be going on than at the training.
	longestSpan = 3600

	// fadedAfter is the number of half-lives of events after which an event has faded.
	fadedAfter = 8
)

// A Tally holds the counts for the items of one base. One goroutine uses it, but for Pending.
type Tally struct {
	Pending *Pending // users who are to be read

	base    *model.Model
	known   []string // ids of the items of the base that entries have had, which outlive it
	trained trend.Degrees
	spec    trend.Spec
	counts  trend.Counts
	users   map[string][]entry
	others  others
	halved  int   // of the users that are counted
	oldest  int64 // span that counts
	entries int
	most    int  // entries
	news    int  // entries that have come since the last snapshot, or were too late for it
	gone    bool // entries have gone since then

	after  int64   // span that the last snapshot is after
	shares float64 // their sum in the last snapshot; 0: none was published
}

// entry is a first event.
type entry struct {
	item int32
	span int64
}

// New returns a tally of nothing for a base.
func New(base *model.Model) *Tally {
	t := &Tally{Pending: NewPending(), base: base, known: make([]string, base.NumItems()),
		spec:    base.Spec().Trend,
		trained: trend.DegreesOf(base.NumItems(), base.Degree), users: map[string][]entry{},
		others: others{base: int32(base.NumItems()), numbers: map[string]int32{}},
		oldest: math.MinInt64, most: minEntries}
	if t.spec.None() { // as many events as in the training fade
		t.spec = trend.Spec{HalfLife: t.trained.Events / fadedAfter, Span: longestSpan}
		return t
	}
	t.spec.Span = min(t.spec.Span, longestSpan)
	const perFaded = 4 // so that letting go of what has faded leaves room
	t.most = int(min(max(minEntries, perFaded*fadedAfter*t.spec.HalfLife), maxEntries))
	return t
}

// Shards is the number of parts of a store with so many users of which the first one has all users
// that count.
func (t *Tally) Shards(users int64) int {
	for t.spec.None() && users>>t.halved > agesUsers {
		t.Halve(t.halved + 1)
	}
	return 1 << t.halved
}

// A History collects the first events of a user.
type History struct {
	t     *Tally
	user  string
	first map[string]int64 // span of the first event on an item
}

// History begins the history of a user, which [History.Count] ends. It is nil, which takes events
// and counts none, if the user is not in the sample.
func (t *Tally) History(user string) *History {
	if !sampled(user, t.halved) {
		return nil
	}
	return &History{t: t, user: user, first: map[string]int64{}}
}

// Add adds the next event of the history that counts.
func (h *History) Add(item string, unix int64) {
	if h == nil {
		return
	}
	if _, seen := h.first[item]; !seen {
		h.first[strings.Clone(item)] = h.t.spec.SpanOf(unix)
	}
}

// Count lets the history count in the place of the one before.
func (h *History) Count() {
	if h == nil {
		return
	}
	var entries []entry
	for _, item := range slices.Sorted(maps.Keys(h.first)) {
		if span := h.first[item]; span >= h.t.oldest {
			entries = append(entries, entry{h.t.number(item), span})
		}
	}
	h.t.set(strings.Clone(h.user), entries)
	if h.t.entries > h.t.most {
		h.t.makeRoom()
	}
}

// makeRoom lets at least half of the room be free.
func (t *Tally) makeRoom() {
	t.oldest = max(t.oldest, t.counts.Within(fadedAfter*t.halfLife()))
	for user, entries := range t.users {
		t.set(user, slices.DeleteFunc(slices.Clone(entries), func(e entry) bool {
			return e.span < t.oldest
		}))
	}
	for t.entries > t.most/2 && t.halved < MostHalved {
		t.Halve(t.halved + 1)
	}
}

// Halve goes on with a sample that was halved so often, if that is smaller.
func (t *Tally) Halve(halved int) {
	if halved <= t.halved {
		return
	}
	t.halved = halved
	t.Pending.Halve(halved)
	for user := range t.users {
		if !sampled(user, halved) {
			t.set(user, nil)
		}
	}
}

// set replaces the entries of a user.
func (t *Tally) set(user string, entries []entry) {
	old := t.users[user]
	for _, e := range entries {
		t.others.use(e.item, 1)
	}
	for _, e := range old {
		t.others.use(e.item, -1)
	}
	if slices.Equal(old, entries) {
		return
	}
	for _, e := range old {
		t.counts.Add(e.span, e.item, -1)
	}
	for _, e := range entries {
		t.counts.Add(e.span, e.item, 1)
	}
	t.entries += len(entries) - len(old)
	t.news += max(1, len(entries)-len(old))
	t.gone = t.gone || len(entries) < len(old)
	if len(entries) == 0 {
		delete(t.users, user)
		return
	}
	t.users[user] = entries
}

// number is that of an item: its index in the base, or one above these.
func (t *Tally) number(item string) int32 {
	i, known := t.base.ItemIndex(item)
	if !known {
		return t.others.number(item)
	}
	if t.known[i] == "" {
		t.known[i] = strings.Clone(item)
	}
	return i
}

// Span is the last span that has ended at a time.
func (t *Tally) Span(unix int64) int64 { return t.spec.SpanOf(unix) - 1 }

// little is the part of a half-life, and of the shares, that makes no difference to lists.
const little = 1. / 30

// Due reports whether another snapshot is due since the last one was published: enough events have
// come, or any has gone.
func (t *Tally) Due() bool { return t.gone || t.enough(int64(t.news)) }

func (t *Tally) enough(events int64) bool {
	return float64(events) >= max(1, little*t.halfLife())
}

// Inherit takes over what was counted for another base, which may be closed, and who waits. Nothing
// is left of the tally before, lest both take memory. Another snapshot is due. exact reports that
// the tally is what would be counted for this base. Else it is close, and good for one snapshot
// before [Tally.Restart].
func (t *Tally) Inherit(before *Tally) (exact bool) {
	t.Pending = before.Pending // who is told of meanwhile is not lost
	before.counts = trend.Counts{}
	t.Halve(before.halved)
	t.oldest = before.spanIn(t, before.oldest)
	for user, entries := range before.users {
		own := make([]entry, len(entries))
		for i, e := range entries {
			own[i] = entry{t.number(before.item(e.item)), before.spanIn(t, e.span)}
		}
		t.set(user, own)
		delete(before.users, user)
	}
	if t.entries > t.most {
		t.makeRoom()
	}
	t.gone = true
	return before.halved == 0 && t.spec.Span == before.spec.Span &&
		t.spec.HalfLife <= before.spec.HalfLife
}

// Restart begins anew with all users, before a search counts their histories. Another snapshot is
// due.
func (t *Tally) Restart() {
	waiting := t.Pending
	waiting.TakeAll() // the search meets who has a history
	*t = *New(t.base)
	t.Pending, t.gone = waiting, true
}

// spanIn is the span of another tally in which one of t has its middle.
func (t *Tally) spanIn(other *Tally, span int64) int64 {
	if span == math.MinInt64 || t.spec.Span == other.spec.Span {
		return span
	}
	return other.spec.SpanOf(span*t.spec.Span + t.spec.Span/2)
}

// item is the id of an item by its number. The base may be closed.
func (t *Tally) item(number int32) string {
	if number < t.others.base {
		return t.known[number]
	}
	return t.others.name(number)
}

// Inherited takes note that a snapshot serves of which the tally knows nothing: another one is due,
// however few events have come.
func (t *Tally) Inherited() { t.gone = true }

// Outdated reports whether the last snapshot would be another one by now: users were read too late
// for it, or the shares of the items of m, an extension of the base, are others. Those of new items
// are estimates, which an import of histories moves by much.
func (t *Tally) Outdated(m *model.Model) bool {
	return t.shares > 0 && (t.enough(int64(t.news)-t.counts.Later(t.after)) ||
		math.Abs(sharesOf(m)-t.shares) > little*t.shares)
}

// Published takes note that the snapshot of m after a span serves.
func (t *Tally) Published(m *model.Model, after int64) {
	t.news, t.gone = int(t.counts.Later(after)), false
	t.after, t.shares = after, sharesOf(m)
}

// sharesOf is the sum of the shares of all items.
func sharesOf(m *model.Model) (sum float64) {
	for i := range int32(m.NumItems()) {
		sum += float64(m.Degree(i))
	}
	return sum
}

// Behind reports whether the waiting users are more than a tenth of the counted ones. The events of
// waiting users are not counted, so a new item seems to have got its users in fewer events than it
// did: about a tenth more popular than it is, when a tenth waits.
func (t *Tally) Behind() bool { return t.Pending.Len() > len(t.users)/10 }

func (t *Tally) halfLife() float64 { return math.Ldexp(t.spec.HalfLife, -t.halved) }

// Snapshot returns the trends of the items of m, an extension of the base or the base itself, after
// a span.
func (t *Tally) Snapshot(m *model.Model, after int64) *trend.Snapshot {
	n := m.NumItems()
	shares, numbers := make([]int64, n), make([]int32, n)
	var names []string
	for i := range int32(n) {
		shares[i], numbers[i] = m.Degree(i), i
		if !m.InBase(i) {
			numbers[i] = t.others.find(m.ItemID(i))
			names = append(names, m.ItemID(i))
		}
	}
	rates := t.counts.RatesAfter(after, t.halfLife(), int(t.others.end()))
	s := rates.Of(numbers, t.base.NumItems()).Snapshot(&t.spec, shares)
	s.Names = names
	return s
}
