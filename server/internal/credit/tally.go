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

// Figures are what is counted of an arm for its comparison with main, since the server started.
//
// A user enters with the first attributed list of the own arm, and a hit is a new event of positive
// weight about an item of such a list: one that the arm of the user made, for a user, after the
// start. An arm that lost its users to main keeps what it has, and they do not enter main, so that
// no user is in two arms.
type Figures struct {
	verdict.Sums

	Lists, Popular int64            // attributed lists of users; those of popular items alone
	ByType         map[string]int64 // hits, by type, as the metrics label it

	Calls, Failed int64         // of Recommend for users, attributed or not; those that failed
	Took          time.Duration // of all of them together
}

// A tally counts the figures of all arms. It is empty after a restart of the server: a user who
// was counted before the restart is counted once more. Its memory is bounded: that of knownBits,
// and some numbers for each arm.
type tally struct {
	identity store.Identity
	began    time.Time
	armOf    func(user string) int // as it was drawn; an arm without users keeps its own
	series   []armSeries
	guards   []*guard

	mu    sync.Mutex
	known bloom
	arms  []Figures
}

// armSeries are the series of an arm.
type armSeries struct {
	users, hits [verdict.Groups]prometheus.Counter
	popular     prometheus.Counter
}

// newTally returns the tally of a server with these arms; nil if there is nothing to compare.
func newTally(d Deps) *tally {
	if len(d.Arms) < 2 {
		return nil
	}
	t := &tally{identity: d.Identity, began: d.Began.Truncate(time.Second), armOf: d.ArmOf,
		known: make(bloom, knownBits/64), arms: make([]Figures, len(d.Arms)),
		series: make([]armSeries, len(d.Arms)), guards: newGuards(d)}
	for i, arm := range d.Arms {
		t.arms[i].ByType = map[string]int64{}
		t.series[i].popular = d.Metrics.popular.WithLabelValues(arm)
		for g := range verdict.Groups {
			t.series[i].users[g] = d.Metrics.users.WithLabelValues(arm, strconv.Itoa(g))
			t.series[i].hits[g] = d.Metrics.hits.WithLabelValues(arm, strconv.Itoa(g))
		}
	}
	return t
}

// listed counts an attributed list that an arm has made for a user.
func (t *tally) listed(arm int, user string, popular bool) {
	if t == nil || user == "" || t.armOf(user) != arm {
		return
	}
	hash := session.UserHash(t.identity, user)
	s, g := &t.series[arm], groupOf(hash)
	if popular {
		s.popular.Inc()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f := &t.arms[arm]
	f.Lists++
	if popular {
		f.Popular++
	}
	if t.known.add(hash) {
		f.Users[g]++
		s.users[g].Inc()
	}
}

// A place is where a hit is counted.
type place struct {
	counts     bool
	arm, group int
}

// placeOf says where an event of a user about an item of the list counts.
func (t *tally) placeOf(user, arm string, arms []string, r *session.Recommendation) (p place) {
	if t == nil || r.NoUser || r.Made.Before(t.began) {
		return p
	}
	p.arm = t.armOf(user)
	p.counts = arms[p.arm] == arm
	p.group = groupOf(session.UserHash(t.identity, user))
	return p
}

// hit counts an event.
func (t *tally) hit(at place, eventType string) {
	if !at.counts {
		return
	}
	t.series[at.arm].hits[at.group].Inc()
	t.mu.Lock()
	defer t.mu.Unlock()
	f := &t.arms[at.arm]
	f.Hits[at.group]++
	f.ByType[eventType]++
}

// Figures returns those of each arm, main's first; nil if there is nothing to compare.
func (b *Book) Figures() (all []Figures) {
	t := b.tally
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, f := range t.arms {
		f.ByType = maps.Clone(f.ByType)
		g := t.guards[i]
		f.Calls, f.Failed = g.calls.Load(), g.failed.Load()
		f.Took = time.Duration(g.nanoseconds.Load())
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
