package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gsimc/gsimc/store"
)

// Report is what a load did, and what has become of it.
type Report struct {
	// Acked is the number of events that were acknowledged, and Open that of the others.
	Acked, Open int
	// Lost were acknowledged and are not there, nor was their user erased.
	Lost int
	// Foreign is the number of states that readers kept whose history is another one by now. Of
	// them Untold were called the same by the store, and ByRevision would have been by a
	// comparison of revisions alone.
	Foreign, Untold, ByRevision int
	// States is the number of all states that readers kept.
	States int
	// Broken counts all other promises that were not kept, by what is wrong.
	Broken map[string]int
}

// What can be wrong besides lost events.
const (
	Doubled    = "events that are there twice"
	Gaps       = "revisions that do not follow each other"
	Moved      = "acknowledged events at another version than was told"
	Misfolded  = "acknowledged events with another mark before them than was told"
	Altered    = "events that are not as they were sent"
	Misordered = "events before ones that were acknowledged when they were sent"
	Returned   = "acknowledged events that are there after their user was erased"
	Ambiguous  = "versions that stood for two histories"
	Unread     = "users who could not be read or whose erasure has no outcome"
	Odd        = "records that were called malformed, in conflict or damaged"
	Refused    = "states of the history that were called those of another one"
)

// Err returns an error that says which promises were not kept, or nil.
func (r *Report) Err() error {
	var errs []error
	for what, n := range map[string]int{"acknowledged events lost": r.Lost,
		"states of another history that were called the same": r.Untold} {
		if n > 0 {
			errs = append(errs, fmt.Errorf("%d %s", n, what))
		}
	}
	for _, what := range slices.Sorted(maps.Keys(r.Broken)) {
		errs = append(errs, fmt.Errorf("%d %s", r.Broken[what], what))
	}
	return errors.Join(errs...)
}

// String is a line for people.
func (r *Report) String() string {
	return fmt.Sprintf("%d acknowledged, %d lost, %d open; of %d states %d of another history: "+
		"%d untold, %d told by the mark alone", r.Acked, r.Lost, r.Open, r.States, r.Foreign,
		r.Untold, r.ByRevision-r.Untold)
}

// Check compares a store with what was acknowledged and read. The load has been stopped. It
// repeats reads that fail until patience ends.
func (l *Load) Check(s store.Store, patience time.Duration) *Report {
	c := &check{Report: &Report{Broken: map[string]int{}}, store: s, shown: l.shown}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	finals := map[string]*final{}
	for _, w := range l.writers {
		c.count(Odd, w.odd)
		for _, u := range w.users {
			f, err := c.read(ctx, u.id)
			if err != nil || u.unsure {
				c.Broken[Unread]++
				continue
			}
			finals[u.id] = f
			c.user(u, f)
		}
	}
	for _, r := range l.readers {
		for user, states := range r.kept {
			if f := finals[user]; f != nil {
				c.states(ctx, user, f, states)
			}
		}
	}
	c.count(Ambiguous, l.shown.ambiguous)
	return c.Report
}

type check struct {
	*Report
	store store.Store
	shown *shown
}

func (c *check) count(what string, n int) {
	if n > 0 {
		c.Broken[what] += n
	}
}

// final is a history at the end.
type final struct {
	events   []store.Event
	versions []store.Version
	digests  []digest // of the first 0, 1, 2, … events
}

// read reads a history, and repeats that until it succeeds or ctx ends.
func (c *check) read(ctx context.Context, user string) (f *final, err error) {
	for {
		f = &final{digests: []digest{0}}
		var d digest
		var head store.Version
		head, _, err = c.store.Since(ctx, user, store.Version{},
			func(v store.Version, e store.Event) error {
				d = d.then(e)
				f.events, f.versions = append(f.events, e), append(f.versions, v)
				f.digests = append(f.digests, d)
				return nil
			})
		if err == nil {
			if head != f.at(len(f.events)) {
				c.Broken[Gaps]++
			}
			return f, nil
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// at returns the version of the first n events.
func (f *final) at(n int) store.Version {
	if n == 0 {
		return store.Version{}
	}
	return f.versions[n-1]
}

// user checks the history of one user.
func (c *check) user(u *user, f *final) {
	where := map[string]int{}
	var sentUntil *sent // the one that was sent last among those before
	inCall := map[int]int{}
	for i, e := range f.events {
		v := f.versions[i]
		if v.Revision != uint64(i+1) {
			c.Broken[Gaps]++
		}
		c.shown.note(u.id, v, f.digests[i+1])
		if _, twice := where[e.ID]; twice {
			c.Broken[Doubled]++
			continue
		}
		where[e.ID] = i
		s := u.events[e.ID]
		if s == nil || e != s.event {
			c.Broken[Altered]++
			continue
		}
		if s.life < u.life {
			if s.acked > 0 {
				c.Broken[Returned]++
			}
			continue
		}
		if s.acked > 0 && sentUntil != nil && s.acked < sentUntil.call {
			c.Broken[Misordered]++
		}
		if last, ok := inCall[s.call]; ok && last > s.place {
			c.Broken[Misordered]++
		}
		inCall[s.call] = s.place
		if sentUntil == nil || s.call > sentUntil.call {
			sentUntil = s
		}
	}
	c.acknowledged(u, f, where)
}

// acknowledged looks for the acknowledged events of a user.
func (c *check) acknowledged(u *user, f *final, where map[string]int) {
	for id, s := range u.events {
		if s.acked == 0 {
			c.Open++
			continue
		}
		c.Acked++
		if s.life < u.life {
			continue
		}
		i, there := where[id]
		switch {
		case !there:
			c.Lost++
		case f.versions[i] != s.result.Version:
			c.Broken[Moved]++
		case f.at(i).Mark != s.result.Before:
			c.Broken[Misfolded]++
		}
	}
}

// states asks the store about states of a user, and compares the answers with the truth.
func (c *check) states(ctx context.Context, user string, f *final, states []state) {
	slices.SortFunc(states, func(a, b state) int {
		return cmp.Compare(a.version.Revision, b.version.Revision)
	})
	for _, s := range slices.Compact(states) {
		c.States++
		n := s.version.Revision
		good := n < uint64(len(f.digests)) && f.digests[n] == s.digest
		_, same, err := c.store.Since(ctx, user, s.version, nil)
		switch {
		case err != nil:
			c.Broken[Unread]++
		case good && !same && f.at(int(n)) == s.version:
			c.Broken[Refused]++
		case !good:
			c.Foreign++
			if same {
				c.Untold++
			}
			if n < uint64(len(f.digests)) {
				c.ByRevision++
			}
		}
	}
}
