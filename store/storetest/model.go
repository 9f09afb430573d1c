package storetest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/store"
)

// Model performs random calls on an empty store and on a slow and obvious model of one, and
// compares every answer. The calls depend on the seed alone. reopen, if not nil, closes the store
// and opens it again from time to time. Model returns the store, still open.
func Model(t testing.TB, s store.Store, seed uint64, steps int,
	reopen func(store.Store) store.Store) store.Store {
	t.Helper()
	m := &modelRun{TB: t, ctx: context.Background(), rng: rand.New(rand.NewPCG(seed, 0)),
		model: model{}, known: map[store.Version][]store.Event{}, s: s}
	for step := range steps {
		m.step = fmt.Sprintf("seed %d, step %d", seed, step)
		switch p := m.rng.IntN(100); {
		case p < 55:
			m.append()
		case p < 70:
			m.read()
		case p < 80:
			m.revision()
		case p < 86:
			m.erase()
		case p < 90:
			m.rewrite()
		case p < 97 || reopen == nil:
			m.users()
		default:
			m.s = reopen(m.s)
		}
		if t.Failed() {
			return m.s
		}
	}
	m.users()
	return m.s
}

// model is the oracle: the history of each user as a list.
type model map[string][]store.Event

// append is the specification of Append in a few lines.
func (m model) append(records []store.Record) (outcomes []outcome) {
next:
	for _, r := range records {
		for i, e := range m[r.User] {
			if e.ID != r.Event.ID {
				continue
			}
			o := duplicate(uint64(i + 1))
			if e.Item != r.Event.Item || e.Type != r.Event.Type || !e.Time.Equal(r.Event.Time) ||
				e.Value != r.Event.Value {
				o = conflict(uint64(i + 1))
			}
			outcomes = append(outcomes, o)
			continue next
		}
		m[r.User] = append(m[r.User], r.Event)
		outcomes = append(outcomes, outcome{Revision: uint64(len(m[r.User]))})
	}
	return outcomes
}

// modelRun is a run of Model.
type modelRun struct {
	testing.TB
	ctx   context.Context
	rng   *rand.Rand
	model model
	known map[store.Version][]store.Event // all versions that the store has told of
	s     store.Store
	step  string
}

// user draws one of a few ids, so that calls meet.
func (m *modelRun) user() string {
	users := []string{"a", "aa", "A", "a\x00", "b", "\xff", "user-6", "user-7"}
	return users[m.rng.IntN(len(users))]
}

func (m *modelRun) record() store.Record {
	id := m.rng.IntN(60)
	e := store.Event{ID: fmt.Sprint("e", id), Item: fmt.Sprint("i", id%5), Type: "view",
		Time: time.Unix(int64(id), 0).UTC(), Value: 1}
	if m.rng.IntN(40) == 0 {
		e.Value = 2 // a conflict, or the first of its id
	}
	return store.Record{User: m.user(), Event: e}
}

func (m *modelRun) append() {
	records := make([]store.Record, 1+m.rng.IntN(6))
	for i := range records {
		records[i] = m.record()
	}
	want := m.model.append(records)
	results, err := m.s.Append(m.ctx, records)
	if err != nil {
		m.Fatalf("%s: Append: %v", m.step, err)
	}
	var got []outcome
	for i, r := range results {
		o, err := outcomeOf(r)
		if err != nil {
			m.Fatalf("%s: Append: %v", m.step, err)
		}
		got = append(got, o)
		if r.Err == nil {
			m.note(r.Version, m.model[records[i].User][:r.Revision])
		}
		if r.Err == nil && r.Revision > 1 {
			m.note(store.Version{Revision: r.Revision - 1, Mark: r.Before},
				m.model[records[i].User][:r.Revision-1])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		m.Fatalf("%s: results of Append differ (-want +got):\n%s", m.step, diff)
	}
}

// note checks that a version always names the same events.
func (m *modelRun) note(v store.Version, events []store.Event) {
	if known, ok := m.known[v]; ok && !slices.Equal(known, events) {
		m.Fatalf("%s: two histories have the version %v", m.step, v)
	}
	m.known[v] = slices.Clone(events)
}

// read asks from a version that is a beginning of the history, or one of another history or life.
func (m *modelRun) read() {
	user := m.user()
	events := m.model[user]
	versions := slices.SortedFunc(maps.Keys(m.known), func(a, b store.Version) int {
		return slices.Compare([]uint64{a.Revision, a.Mark}, []uint64{b.Revision, b.Mark})
	})
	var known store.Version
	if m.rng.IntN(4) > 0 && len(versions) > 0 {
		known = versions[m.rng.IntN(len(versions))]
	}
	begins := func(known store.Version) bool {
		n := int(known.Revision)
		return n <= len(events) && slices.Equal(m.known[known], events[:n])
	}
	next, got := uint64(1), []store.Event{}
	head, same, err := m.s.Since(m.ctx, user, known, func(v store.Version, e store.Event) error {
		if len(got) == 0 {
			next = v.Revision
		}
		if v.Revision != next {
			return fmt.Errorf("revision %d, want %d", v.Revision, next)
		}
		next++
		got = append(got, e)
		m.note(v, events[:v.Revision])
		return nil
	})
	if err != nil {
		m.Fatalf("%s: Since: %v", m.step, err)
	}
	m.note(head, events)
	// equal events of two users, or of two lives, may have versions that differ
	if same && !begins(known) {
		m.Fatalf("%s: Since: the history of %q begins with %v", m.step, user, known)
	}
	want := events
	if same {
		want = events[known.Revision:]
	}
	if !slices.Equal(want, got) {
		m.Fatalf("%s: Since %v of %q differs (-want +got):\n%s", m.step, known, user,
			cmp.Diff(want, got))
	}
	if again, same, err := m.s.Since(m.ctx, user, head, nil); again != head || !same || err != nil {
		m.Fatalf("%s: Since %v: %v, %v, %v", m.step, head, again, same, err)
	}
}

func (m *modelRun) revision() {
	user := m.user()
	got, err := Revision(m.ctx, m.s, user)
	if want := len(m.model[user]); err != nil || got != uint64(want) {
		m.Fatalf("%s: Revision of %q: got %d, %v, want %d", m.step, user, got, err, want)
	}
}

func (m *modelRun) erase() {
	user := m.user()
	got, err := m.s.Erase(m.ctx, user)
	if want := len(m.model[user]); err != nil || got != uint64(want) {
		m.Fatalf("%s: Erase of %q: got %d, %v, want %d", m.step, user, got, err, want)
	}
	delete(m.model, user)
}

// rewrite takes events out of the histories of two users, and sometimes moves those of one to the
// other.
func (m *modelRun) rewrite() {
	users := []string{m.user(), m.user()}
	if users[0] == users[1] {
		users = users[:1]
	}
	after := make([][]store.Event, len(users))
	merges := len(users) == 2 && m.rng.IntN(3) == 0
	for i, user := range users {
		if merges || m.rng.IntN(4) > 0 {
			after[i] = []store.Event{}
			out := m.rng.IntN(5)
			for _, e := range m.model[user] {
				if merges || e.Item != fmt.Sprint("i", out) {
					after[i] = append(after[i], e)
				}
			}
		}
	}
	if merges {
		has := model{users[0]: after[0]}
		for _, e := range after[1] {
			has.append([]store.Record{{User: users[0], Event: e}})
		}
		after[0], after[1] = has[users[0]], []store.Event{}
	}
	var got [][]store.Event
	versions, err := m.s.Rewrite(m.ctx, users, func(h [][]store.Event) [][]store.Event {
		got = slices.Clone(h)
		return after
	})
	if err != nil {
		m.Fatalf("%s: Rewrite: %v", m.step, err)
	}
	for i, user := range users {
		if !slices.Equal(m.model[user], got[i]) {
			m.Fatalf("%s: Rewrite of %q got another history (-want +got):\n%s", m.step, user,
				cmp.Diff(m.model[user], got[i]))
		}
		if after[i] != nil {
			if m.model[user] = after[i]; len(after[i]) == 0 {
				delete(m.model, user)
			}
		}
		m.note(versions[i], m.model[user])
	}
}

func (m *modelRun) users() {
	want := map[string]uint64{}
	for user, events := range m.model {
		want[user] = uint64(len(events))
	}
	got := map[string]uint64{}
	err := m.s.Each(m.ctx, 0, 1, func(user string, head store.Version) error {
		got[user] = head.Revision
		m.note(head, m.model[user])
		return nil
	})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		m.Fatalf("%s: Each: %v, users differ (-want +got):\n%s", m.step, err, diff)
	}
}
