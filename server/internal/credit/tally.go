package credit

import (
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/internal/verdict"
	"github.com/gsimc/gsimc/server/internal/session"
	"github.com/gsimc/gsimc/store"
)

// Figures are what is counted of an arm for its comparison with main, since the server started or
// [Book.Restart].
//
// A user enters with the first attributed list of the own arm, and a hit is a new event about an
// item of such a list: one that the arm of the user made, for a user, after the start. The weight
// of the event times its value is positive: a purchase that is taken back, of value -1, is none. An
// arm that lost its users to main keeps what it has, and they do not enter main, so that no user is
// in two arms.
type Figures struct {
	verdict.Sums

	Lists, Popular int64           // attributed lists of users; those of popular items alone
	ByType         map[string]Hits // by type, as the metrics label it

	// Guard rails: another model must neither answer later nor fail more often.

	Calls  int64         // of Recommend for users, attributed or not
	Failed int64         // calls that failed though their request was good
	Took   time.Duration // of all calls together
}

// Hits are those of a type.
type Hits struct {
	Count int64
	Value float64 // sum of the values of the events
}

// A tally counts the figures of all arms. It is empty after a restart of the server: a user who
// was counted before the restart is counted once more. Its memory is bounded: that of knownBits,
// and some numbers for each arm.
type tally struct {
	identity store.Identity
	armOf    func(user string) int // as it was drawn; an arm without users keeps its own
	series   []armSeries

	mu     sync.Mutex
	period // the present one
	known  bloom
	arms   []Figures
}

// A period is a time in which no user changes the arm.
type period struct {
	number int
	began  time.Time // hits of lists before it do not count
}

// armSeries are the series of an arm.
type armSeries struct {
	users, hits      [verdict.Groups]prometheus.Counter
	popular          prometheus.Counter
	ok, bad, seconds prometheus.Counter // of calls
}

// newTally returns the tally of a server with these arms; nil if there is nothing to compare.
func newTally(d Deps) *tally {
	if len(d.Arms) < 2 {
		return nil
	}
	t := &tally{identity: d.Identity, armOf: d.ArmOf, series: make([]armSeries, len(d.Arms))}
	for i, arm := range d.Arms {
		s := &t.series[i]
		s.popular = d.Metrics.popular.WithLabelValues(arm)
		s.ok = d.Metrics.calls.WithLabelValues(arm, "ok")
		s.bad = d.Metrics.calls.WithLabelValues(arm, "failed")
		s.seconds = d.Metrics.seconds.WithLabelValues(arm)
		for g := range verdict.Groups {
			s.users[g] = d.Metrics.users.WithLabelValues(arm, strconv.Itoa(g))
			s.hits[g] = d.Metrics.hits.WithLabelValues(arm, strconv.Itoa(g))
		}
	}
	t.restart(d.Now().Truncate(time.Second))
	return t
}

// restart begins the next period, in which hits of lists from a time on count. What drew the arm of
// its user before counts in none.
func (t *tally) restart(began time.Time) {
	known, arms := make(bloom, knownBits/64), make([]Figures, len(t.series))
	for i := range arms {
		arms[i].ByType = map[string]Hits{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.period = period{t.number + 1, began}
	t.known, t.arms = known, arms
}

// now returns the present period. Who draws the arm of a user asks for it first.
func (t *tally) now() period {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.period
}

// listed counts an attributed list that an arm has made for a user.
func (t *tally) listed(arm int, user string, popular bool) {
	if t == nil || user == "" {
		return
	}
	now := t.now()
	if t.armOf(user) != arm {
		return
	}
	hash := session.UserHash(t.identity, user)
	s, g := &t.series[arm], groupOf(hash)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.number != now.number {
		return
	}
	f := &t.arms[arm]
	f.Lists++
	if popular {
		f.Popular++
		s.popular.Inc()
	}
	if t.known.add(hash) {
		f.Users[g]++
		s.users[g].Inc()
	}
}

// A place is where a hit is counted.
type place struct {
	counts             bool
	period, arm, group int
}

// placeOf says where an event of a user about an item of the list counts.
func (t *tally) placeOf(user, arm string, arms []string, r *session.Recommendation) (p place) {
	if t == nil || r.NoUser {
		return p
	}
	now := t.now()
	p.period, p.arm = now.number, t.armOf(user)
	p.counts = arms[p.arm] == arm && !r.Made.Before(now.began)
	p.group = groupOf(session.UserHash(t.identity, user))
	return p
}

// hit counts an event of this type and value.
func (t *tally) hit(at place, eventType string, value float64) {
	if !at.counts {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.number != at.period {
		return
	}
	t.series[at.arm].hits[at.group].Inc()
	f := &t.arms[at.arm]
	f.Hits[at.group]++
	of := f.ByType[eventType]
	of.Count++
	of.Value += value
	f.ByType[eventType] = of
}

// answered counts a call for the arm that answered it, also one that began before the period: how
// long a model takes does not depend on whose users they are.
func (t *tally) answered(arm int, took time.Duration, failed bool) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f, s := &t.arms[arm], &t.series[arm]
	f.Calls++
	f.Took += took
	s.seconds.Add(took.Seconds())
	if failed {
		f.Failed++
		s.bad.Inc()
		return
	}
	s.ok.Inc()
}

// figures returns those of each arm, main's first; nil if there is nothing to compare.
func (t *tally) figures() (all []Figures) {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.arms {
		f.ByType = maps.Clone(f.ByType)
		all = append(all, f)
	}
	return all
}

func groupOf(hash uint64) int { return int(hash % verdict.Groups) }

// knownBits are those of a bloom, 8 MiB.
const knownBits = 1 << 26

// A bloom is the set of the users who have entered (B. H. Bloom, Communications of the ACM 13,
// 1970), with 4 bits for each. It is never full: of 5 million users it takes the next for known
// with a probability of 0.4 %, of 10 million with 4 %, of 20 million with 23 %. Such a user is not
// counted, and the hits are. As the bits do not depend on the arm, all rates are raised alike.
type bloom []uint64

// add adds a user, and reports whether that is a new one.
func (b bloom) add(hash uint64) (isNew bool) {
	at, step := hash>>6, hash>>32|1 // the group has the lowest bits
	for range 4 {
		word, bit := &b[at%knownBits/64], uint64(1)<<(at%64)
		isNew = isNew || *word&bit == 0
		*word |= bit
		at += step
	}
	return isNew
}
