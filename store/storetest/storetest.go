// Package storetest is the conformance suite of store.Store: every back end must pass Run and
// Model.
//
// The suite is a table of rules. Each case states the rule in a sentence, which a failing test
// prints, so that the author of a back end learns the rule without reading the code of the case.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/store"
)

// testCase is a rule for stores, and code that tests it.
type testCase struct {
	name string
	// explanation is the rule.
	explanation string
	// run breaks the rule if it can. It calls t.Errorf or t.Fatalf when it has.
	run func(t *tester)
	// across is set if the rule is about several users at once: that a call is atomic over them, or
	// that they are seen as of one moment.
	across bool
}

// An Option says what a store does not promise, or how it is tested.
type Option int

// PerUser is for stores that are spread over several machines: atomic for each user alone. It skips
// the rules that need one step, or one moment, over several users, and no others.
const PerUser Option = iota + 1

// Parallel is for stores on other processes, whose calls mostly wait: rules are tested at the same
// time. Run returns before they are.
const Parallel Option = PerUser + 1

// Run checks that the stores returned by open keep the rules of store.Store. open returns a new,
// empty store at each call; Run closes it.
func Run(t *testing.T, open func(t testing.TB) store.Store, options ...Option) {
	perUser, parallel := slices.Contains(options, PerUser), slices.Contains(options, Parallel)
	for _, group := range [][]testCase{appendCases, readCases, versionCases, rewriteCases,
		lifecycleCases, itemCases, sharedCases} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) {
				if c.across && perUser {
					t.Skip("the store is atomic for each user only, and the rule is about several")
				}
				if parallel {
					t.Parallel()
				}
				test(t, open(t), c.explanation, c.run)
			})
		}
	}
}

// test runs the test of a rule with a store, and closes that.
func test(t *testing.T, s store.Store, rule string, run func(*tester)) {
	tt := &tester{T: t, Store: s, ctx: context.Background()}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the rule: %s", rule)
		}
		if err := s.Close(); err != nil && !tt.closed {
			t.Errorf("Close: %v", err)
		}
	})
	run(tt)
}

// tester is a store in a test, with methods that fail the test on errors.
type tester struct {
	*testing.T
	store.Store
	ctx    context.Context
	closed bool // the case closed the store itself
}

// succeed ends the test if there is an error.
func (t *tester) succeed(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fails checks that an error wraps another one.
func (t *tester) fails(err, want error, what string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", what, err, want)
	}
}

// allFail checks the errors of calls.
func (t *tester) allFail(want error, calls map[string]error) {
	t.Helper()
	for name, err := range calls {
		t.fails(err, want, name)
	}
}

// end closes the store.
func (t *tester) end() {
	t.Helper()
	t.succeed(t.Close())
	t.closed = true
}

// erase erases a user.
func (t *tester) erase(user string) {
	t.Helper()
	_, err := t.Erase(t.ctx, user)
	t.succeed(err)
}

// wantErased erases a user, and checks that events is how many there were.
func (t *tester) wantErased(user string, events uint64) {
	t.Helper()
	if n, err := t.Erase(t.ctx, user); n != events || err != nil {
		t.Errorf("Erase of %q: got %d, %v, want %d", user, n, err, events)
	}
}

// event returns the i-th of a series of distinct events.
func event(i int) store.Event {
	return store.Event{
		ID:    fmt.Sprintf("event-%d", i),
		Item:  fmt.Sprintf("item-%d", i%7),
		Type:  "view",
		Time:  time.Unix(1_700_000_000+int64(i), 1000*int64(i)).UTC(),
		Value: 1 + float64(i)/4,
	}
}

// records returns events from, …, to-1 as records of the user.
func records(user string, from, to int) []store.Record {
	var rs []store.Record
	for i := from; i < to; i++ {
		rs = append(rs, store.Record{User: user, Event: event(i)})
	}
	return rs
}

// An outcome is what a rule says of a Result. A conflict is that with an event of a revision.
type outcome struct {
	Revision, Conflict uint64
	Duplicate          bool
}

// outcomeOf returns what a result says, or an error if it contradicts itself.
func outcomeOf(r store.Result) (outcome, error) {
	if r.Err != nil {
		conflict, ok := errors.AsType[*store.ConflictError](r.Err)
		if !ok || r != (store.Result{Err: r.Err}) {
			return outcome{}, fmt.Errorf("unexpected result %+v", r)
		}
		return outcome{Conflict: conflict.Revision}, nil
	}
	if r.Revision == 0 || r.Mark == 0 || (r.Before == 0) != (r.Revision == 1) {
		return outcome{}, fmt.Errorf("result %+v: want a revision, a mark, and a mark before it "+
			"unless it is the first", r)
	}
	return outcome{Revision: r.Revision, Duplicate: r.Duplicate}, nil
}

// append appends and returns the results, none of which may be an error.
func (t *tester) append(records ...store.Record) []store.Result {
	t.Helper()
	results, err := t.Append(t.ctx, records)
	for _, r := range results {
		err = errors.Join(err, r.Err)
	}
	t.succeed(err)
	return results
}

// wantResults appends and compares the results.
func (t *tester) wantResults(want []outcome, records ...store.Record) {
	t.Helper()
	results, err := t.Append(t.ctx, records)
	t.succeed(err)
	var got []outcome
	for i, r := range results {
		o, err := outcomeOf(r)
		if err != nil {
			t.Errorf("record %d: %v", i, err)
		}
		got = append(got, o)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results of Append differ (-want +got):\n%s", diff)
	}
}

// read returns the events after a revision.
func (t *tester) read(user string, after uint64) []store.Event {
	t.Helper()
	events, err := t.tryRead(user, after)
	t.succeed(err)
	return events
}

// tryRead returns the events after a revision and checks that the versions follow each other.
// Goroutines may use it.
func (t *tester) tryRead(user string, after uint64) (events []store.Event, err error) {
	known, found := store.Version{}, errors.New("found")
	_, _, err = t.Since(t.ctx, user, known, func(v store.Version, _ store.Event) error {
		if known = v; v.Revision == after {
			return found
		}
		return nil
	})
	switch {
	case after > 0 && err == nil: // there are fewer
		return nil, nil
	case err == nil || after == 0:
		known = store.Version{}
	case err != found:
		return nil, err
	}
	next := after
	_, same, err := t.Since(t.ctx, user, known, func(v store.Version, e store.Event) error {
		if next++; v.Revision != next {
			return fmt.Errorf("passed revision %d, want %d", v.Revision, next)
		}
		events = append(events, e)
		return nil
	})
	if err == nil && !same {
		err = fmt.Errorf("the history does not begin with its version at revision %d", after)
	}
	return events, err
}

// Revision returns the revision of a user.
func Revision(ctx context.Context, s store.Store, user string) (uint64, error) {
	head, _, err := s.Since(ctx, user, store.Version{}, nil)
	return head.Revision, err
}

// Read calls fn for the events of a user above a revision, and checks that the revisions follow
// each other and end with that of the history.
func Read(
	ctx context.Context, s store.Store, user string, after uint64,
	fn func(revision uint64, e store.Event) error,
) error {
	var last store.Version
	head, same, err := s.Since(ctx, user, last, func(v store.Version, e store.Event) error {
		if v.Revision != last.Revision+1 || v.Mark == 0 {
			return fmt.Errorf("passed version %v after %v", v, last)
		}
		if last = v; v.Revision <= after {
			return nil
		}
		return fn(v.Revision, e)
	})
	if err == nil && (head != last || !same) {
		return fmt.Errorf("the history has version %v, same %v, and its last event %v", head, same,
			last)
	}
	return err
}

// wantHistory checks the events and the revision of a user.
func (t *tester) wantHistory(user string, want ...store.Event) {
	t.Helper()
	if diff := cmp.Diff(want, t.read(user, 0)); diff != "" {
		t.Errorf("history of %q differs (-want +got):\n%s", user, diff)
	}
	revision, err := Revision(t.ctx, t.Store, user)
	if err != nil || revision != uint64(len(want)) {
		t.Errorf("Revision of %q: got %d, %v, want %d", user, revision, err, len(want))
	}
}

// wantUsers checks the users with a history and their revisions.
func (t *tester) wantUsers(want map[string]uint64) {
	t.Helper()
	got := map[string]uint64{}
	t.succeed(t.Each(t.ctx, 0, 1, func(user string, head store.Version) error {
		if _, again := got[user]; again {
			t.Errorf("Each passed %q twice", user)
		}
		got[user] = head.Revision
		return nil
	}))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("users differ (-want +got):\n%s", diff)
	}
}

// revisions returns outcomes of new events with the given revisions.
func revisions(rs ...uint64) []outcome {
	var results []outcome
	for _, r := range rs {
		results = append(results, outcome{Revision: r})
	}
	return results
}

// duplicate returns the outcome of an event that was there before.
func duplicate(revision uint64) outcome {
	return outcome{Revision: revision, Duplicate: true}
}

// conflict returns the outcome of a record whose event id is that of a revision already.
func conflict(revision uint64) outcome { return outcome{Conflict: revision} }
