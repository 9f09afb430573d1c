package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
		model: model{}, s: s}
	for step := range steps {
		m.step = fmt.Sprintf("seed %d, step %d", seed, step)
		switch p := m.rng.IntN(100); {
		case p < 55:
			m.append()
		case p < 70:
			m.read()
		case p < 80:
			m.revision()
		case p < 90:
			m.erase()
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

// append is the specification of Append in a few lines: try on a copy, keep the copy if there are
// no conflicts.
func (m model) append(records []store.Record) (model, []store.Result, error) {
	after := model{}
	for user, events := range m {
		after[user] = append([]store.Event(nil), events...)
	}
	results := []store.Result{}
	var conflicts []store.Conflict
next:
	for at, r := range records {
		for i, e := range after[r.User] {
			if e.ID != r.Event.ID {
				continue
			}
			if e.Item != r.Event.Item || e.Type != r.Event.Type || !e.Time.Equal(r.Event.Time) ||
				e.Value != r.Event.Value {
				c := store.Conflict{Index: at}
				if i < len(m[r.User]) {
					c.Revision = uint64(i + 1)
				}
				conflicts = append(conflicts, c)
				continue next
			}
			results = append(results, store.Result{Revision: uint64(i + 1), Duplicate: true})
			continue next
		}
		after[r.User] = append(after[r.User], r.Event)
		results = append(results, store.Result{Revision: uint64(len(after[r.User]))})
	}
	if conflicts != nil {
		return m, nil, &store.ConflictError{Conflicts: conflicts}
	}
	return after, results, nil
}

// modelRun is a run of Model.
type modelRun struct {
	testing.TB
	ctx   context.Context
	rng   *rand.Rand
	model model
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
	after, want, wantErr := m.model.append(records)
	got, err := m.s.Append(m.ctx, records)
	if wantErr != nil {
		if conflict := (*store.ConflictError)(nil); !errors.As(err, &conflict) ||
			!cmp.Equal(wantErr, error(conflict)) {
			m.Fatalf("%s: Append: got error %v, want %v", m.step, err, wantErr)
		}
	} else if err != nil {
		m.Fatalf("%s: Append: %v", m.step, err)
	}
	if diff := cmp.Diff(want, got); wantErr == nil && diff != "" {
		m.Fatalf("%s: results of Append differ (-want +got):\n%s", m.step, diff)
	}
	m.model = after
}

func (m *modelRun) read() {
	user := m.user()
	want := m.model[user]
	after := m.rng.IntN(len(want) + 2)
	var got []store.Event
	next := uint64(after + 1)
	err := m.s.Read(m.ctx, user, uint64(after), func(revision uint64, e store.Event) error {
		if revision != next {
			return fmt.Errorf("revision %d, want %d", revision, next)
		}
		next++
		got = append(got, e)
		return nil
	})
	if err != nil {
		m.Fatalf("%s: Read: %v", m.step, err)
	}
	if after >= len(want) {
		want = nil
	} else {
		want = want[after:]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		m.Fatalf("%s: history of %q after %d differs (-want +got):\n%s", m.step, user, after, diff)
	}
}

func (m *modelRun) revision() {
	user := m.user()
	got, err := m.s.Revision(m.ctx, user)
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

func (m *modelRun) users() {
	want := map[string]uint64{}
	for user, events := range m.model {
		want[user] = uint64(len(events))
	}
	got := map[string]uint64{}
	err := m.s.Users(m.ctx, func(user string,
		revision uint64) error {
		got[user] = revision
		return nil
	})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		m.Fatalf("%s: Users: %v, users differ (-want +got):\n%s", m.step, err, diff)
	}
}
