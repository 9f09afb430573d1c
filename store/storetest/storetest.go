// Package storetest is the conformance suite of store.Store: every back end must pass Run and
// Model.
//
// The suite is a table of rules. Each case states the rule in a sentence, which a failing test
// prints, so that the author of a back end learns the rule without reading the code of the case.
package storetest

import (
	"context"
	"fmt"
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
}

// Run checks that the stores returned by open keep the rules of store.Store. open returns a new,
// empty store at each call; Run closes it.
func Run(t *testing.T, open func(t testing.TB) store.Store) {
	for _, group := range [][]testCase{appendCases, readCases, lifecycleCases} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) {
				s := open(t)
				tt := &tester{T: t, Store: s, ctx: context.Background()}
				t.Cleanup(func() {
					if t.Failed() {
						t.Logf("the rule: %s", c.explanation)
					}
					if err := s.Close(); err != nil && !tt.closed {
						t.Errorf("Close: %v", err)
					}
				})
				c.run(tt)
			})
		}
	}
}

// tester is a store in a test, with methods that fail the test on errors.
type tester struct {
	*testing.T
	store.Store
	ctx    context.Context
	closed bool // the case closed the store itself
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

// append appends and returns the results.
func (t *tester) append(records ...store.Record) []store.Result {
	t.Helper()
	results, err := t.Append(t.ctx, records)
	if err != nil {
		t.Fatalf("Append of %d records: %v", len(records), err)
	}
	return results
}

// wantResults appends and compares the results.
func (t *tester) wantResults(want []store.Result, records ...store.Record) {
	t.Helper()
	if diff := cmp.Diff(want, t.append(records...)); diff != "" {
		t.Errorf("results of Append differ (-want +got):\n%s", diff)
	}
}

// wantRefused appends and checks the error.
func (t *tester) wantRefused(want error, records ...store.Record) error {
	t.Helper()
	results, err := t.Append(t.ctx, records)
	if !isError(err, want) {
		t.Fatalf("Append: got error %v, want %v", err, want)
	}
	if results != nil {
		t.Errorf("Append returned results %v together with error %v", results, err)
	}
	return err
}

// read returns the events after a revision.
func (t *tester) read(user string, after uint64) []store.Event {
	t.Helper()
	events, err := t.tryRead(user, after)
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	return events
}

// tryRead returns the events after a revision and checks that the revisions follow each other.
// Goroutines may use it.
func (t *tester) tryRead(user string, after uint64) (events []store.Event, err error) {
	next := after + 1
	err = t.Read(t.ctx, user, after, func(revision uint64, e store.Event) error {
		if revision != next {
			return fmt.Errorf("passed revision %d, want %d", revision, next)
		}
		next++
		events = append(events, e)
		return nil
	})
	return events, err
}

// wantHistory checks the events and the revision of a user.
func (t *tester) wantHistory(user string, want ...store.Event) {
	t.Helper()
	if diff := cmp.Diff(want, t.read(user, 0)); diff != "" {
		t.Errorf("history of %q differs (-want +got):\n%s", user, diff)
	}
	revision, err := t.Revision(t.ctx, user)
	if err != nil || revision != uint64(len(want)) {
		t.Errorf("Revision of %q: got %d, %v, want %d", user, revision, err, len(want))
	}
}

// wantUsers checks the users with a history and their revisions.
func (t *tester) wantUsers(want map[string]uint64) {
	t.Helper()
	got := map[string]uint64{}
	err := t.Users(t.ctx, func(user string, revision uint64) error {
		if _, again := got[user]; again {
			t.Errorf("Users passed %q twice", user)
		}
		got[user] = revision
		return nil
	})
	if err != nil {
		t.Fatalf("Users: %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("users differ (-want +got):\n%s", diff)
	}
}

// revisions returns results of new events with the given revisions.
func revisions(rs ...uint64) []store.Result {
	var results []store.Result
	for _, r := range rs {
		results = append(results, store.Result{Revision: r})
	}
	return results
}

// duplicate returns the result of an event that was there before.
func duplicate(revision uint64) store.Result {
	return store.Result{Revision: revision, Duplicate: true}
}
