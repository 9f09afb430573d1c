package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/gsimc/gsimc/store"
)

var appendCases = slices.Concat(orderCases, repetitionCases, conflictCases, refusalCases,
	concurrencyCases)

// orderCases are about revisions.
var orderCases = []testCase{
	{
		name: "gapless",
		explanation: "the events of a user get revisions 1, 2, 3, … in the order of the calls " +
			"and of the records in a call",
		run: func(t *tester) {
			t.wantResults(revisions(1), records("u", 0, 1)...)
			t.wantResults(revisions(2, 3, 4), records("u", 1, 4)...)
			t.wantResults(revisions(5), records("u", 4, 5)...)
			t.wantHistory("u", event(0), event(1), event(2), event(3), event(4))
		},
	},
	{
		name: "order-is-arrival",
		explanation: "the order of a history is that of arrival, whatever the times of the " +
			"events say",
		run: func(t *tester) {
			t.append(store.Record{User: "u", Event: event(9)})
			t.append(store.Record{User: "u", Event: event(3)},
				store.Record{User: "u", Event: event(5)})
			t.wantHistory("u", event(9), event(3), event(5))
		},
	},
	{
		name: "several-users",
		explanation: "a call may hold records of several users in any order; each user's " +
			"revisions count on their own",
		run: func(t *tester) {
			a, b := records("a", 0, 3), records("b", 0, 3)
			t.wantResults(revisions(1, 1, 2, 2, 3), a[0], b[0], b[1], a[1], a[2])
			t.wantHistory("a", event(0), event(1), event(2))
			t.wantHistory("b", event(0), event(1))
		},
	},
	{
		name:        "empty-call",
		explanation: "a call without records does nothing and is no error",
		run: func(t *tester) {
			if results, err := t.Append(t.ctx, nil); err != nil || len(results) != 0 {
				t.Errorf("got %v, %v, want no results and no error", results, err)
			}
			t.wantUsers(map[string]uint64{})
		},
	},
}

// repetitionCases are about events that are sent again.
var repetitionCases = []testCase{
	{
		name: "repeat-without-time",
		explanation: "a time of receipt differs between attempts and does not make a repeated " +
			"event another one",
		run: func(t *tester) {
			first, again, timed := event(0), event(0), event(0)
			again.Time, timed.Time = first.Time.Add(time.Second), first.Time.Add(time.Minute)
			t.append(store.Record{User: "u", Event: first, Received: true})
			t.wantResults([]outcome{duplicate(1), duplicate(1)},
				store.Record{User: "u", Event: again, Received: true},
				store.Record{User: "u", Event: again, Received: true})
			t.wantResults([]outcome{conflict(1)}, store.Record{User: "u", Event: timed})
			t.wantHistory("u", first)
		},
	},
	{
		name: "duplicate-in-later-call",
		explanation: "an event that is in the history already is not applied again and gets the " +
			"revision of the first",
		run: func(t *tester) {
			t.append(records("u", 0, 3)...)
			for range 2 {
				t.wantResults([]outcome{duplicate(2)}, records("u", 1, 2)...)
			}
			t.wantResults([]outcome{duplicate(1), duplicate(2), duplicate(3), {Revision: 4}},
				records("u", 0, 4)...)
			t.wantHistory("u", event(0), event(1), event(2), event(3))
		},
	},
	{
		name:        "duplicate-in-same-call",
		explanation: "an event that is twice in a call is applied once",
		run: func(t *tester) {
			r := records("u", 0, 2)
			t.wantResults([]outcome{{Revision: 1}, duplicate(1), {Revision: 2}, duplicate(2),
				duplicate(1)}, r[0], r[0], r[1], r[1], r[0])
			t.wantHistory("u", event(0), event(1))
		},
	},
	{
		name:        "event-id-per-user",
		explanation: "event ids belong to a user: two users may use the same one",
		run: func(t *tester) {
			other := event(0)
			other.Item = "another"
			t.wantResults(revisions(1, 1), store.Record{User: "a", Event: event(0)},
				store.Record{User: "b", Event: other})
			t.wantHistory("b", other)
		},
	},
	{
		name: "same-instant-is-same-payload",
		explanation: "the payload is item, type, instant and value; the time zone and the " +
			"monotonic clock do not count",
		run: func(t *tester) {
			e := event(0)
			e.Time = time.Now()
			t.append(store.Record{User: "u", Event: e})
			e.Time = e.Time.In(time.FixedZone("elsewhere", 3600)).Round(0)
			t.wantResults([]outcome{duplicate(1)}, store.Record{User: "u", Event: e})
		},
	},
}

// conflictCases are about event ids that come again with another payload.
var conflictCases = []testCase{
	{
		name: "conflict",
		explanation: "an event id with another item, type, time or value is ErrConflict and " +
			"names the event that has the id; the other records are applied",
		run: func(t *tester) {
			t.append(records("u", 0, 2)...)
			next := 2
			for _, change := range changes {
				changed := event(1)
				change(&changed)
				r := records("u", next, next+2)
				results := []outcome{{Revision: uint64(next + 1)}, conflict(2),
					{Revision: uint64(next + 2)}}
				t.wantResults(results, r[0], store.Record{User: "u", Event: changed}, r[1])
				next += 2
			}
			t.wantResults([]outcome{conflict(1)}, clash("u", 0))
			t.wantHistory("u", series(next)...)
		},
	},
	{
		name: "conflict-in-same-call",
		explanation: "an event id that is twice in a call with different payloads is " +
			"ErrConflict with the first of them, which is applied",
		run: func(t *tester) {
			for name, change := range changes {
				changed := event(1)
				change(&changed)
				t.wantResults([]outcome{{Revision: 1}, {Revision: 2}, {Revision: 3}, conflict(2)},
					append(records(name, 0, 3), store.Record{User: name, Event: changed})...)
				t.wantHistory(name, series(3)...)
			}
		},
	},
	{
		name: "many-conflicts",
		explanation: "every conflict of a call is named, and the call is applied as if these " +
			"records had never been there",
		run: runManyConflicts,
	},
}

// refusalCases are about calls that change nothing.
var refusalCases = []testCase{
	{
		name: "invalid",
		explanation: "a record with an empty or too long id or a value that is no number is " +
			"ErrInvalid, and nothing of the call is applied",
		run: func(t *tester) {
			long := string(make([]byte, store.MaxIDBytes+1))
			for name, spoil := range map[string]func(*store.Record){
				"no user":         func(r *store.Record) { r.User = "" },
				"long user":       func(r *store.Record) { r.User = long },
				"no event id":     func(r *store.Record) { r.Event.ID = "" },
				"long event id":   func(r *store.Record) { r.Event.ID = long },
				"no item":         func(r *store.Record) { r.Event.Item = "" },
				"long item":       func(r *store.Record) { r.Event.Item = long },
				"long event type": func(r *store.Record) { r.Event.Type = long },
				"value NaN":       func(r *store.Record) { r.Event.Value = math.NaN() },
			} {
				rs := records("u", 0, 3)
				spoil(&rs[1])
				_, err := t.Append(t.ctx, rs)
				t.fails(err, store.ErrInvalid, name)
			}
			t.wantUsers(map[string]uint64{})
		},
	},
	{
		name: "cancelled-before-start",
		explanation: "a call whose context has ended returns the context's error and applies " +
			"nothing",
		run: func(t *tester) {
			t.append(records("u", 0, 1)...)
			ctx, cancel := context.WithCancel(t.ctx)
			cancel()
			_, appendErr := t.Append(ctx, records("u", 1, 2))
			_, eraseErr := t.Erase(ctx, "u")
			_, statsErr := t.Stats(ctx)
			never := errors.New("called in spite of the ended context")
			_, _, sinceErr := t.Since(ctx, "u", store.Version{},
				func(store.Version, store.Event) error { return never })
			eachErr := t.Each(ctx, 0, 1, func(string, store.Version) error { return never })
			t.allFail(context.Canceled, map[string]error{
				"Append": appendErr, "Erase": eraseErr, "Stats": statsErr, "Since": sinceErr,
				"Each": eachErr,
			})
			t.wantHistory("u", event(0))
		},
	},
}

// concurrencyCases are about calls at the same time.
var concurrencyCases = []testCase{
	{
		name: "concurrent-calls",
		explanation: "calls at the same time give each event its own revision and leave no gaps; " +
			"calls over several users do not deadlock",
		run: runConcurrentCalls,
	},
	{
		name: "concurrent-duplicates",
		explanation: "when several callers send the same event at the same time exactly one " +
			"applies it and all get its revision",
		run: runConcurrentDuplicates,
	},
}

// changes are all ways in which payloads differ.
var changes = map[string]func(*store.Event){
	"item":  func(e *store.Event) { e.Item += "x" },
	"type":  func(e *store.Event) { e.Type = "" },
	"time":  func(e *store.Event) { e.Time = e.Time.Add(1) },
	"value": func(e *store.Event) { e.Value = math.Nextafter(e.Value, 9) },
}

// clash returns a record that is in conflict with the i-th event of the series.
func clash(user string, i int) store.Record {
	e := event(i)
	e.Value = -1
	return store.Record{User: user, Event: e}
}

// series returns the first n events of the series.
func series(n int) []store.Event {
	events := make([]store.Event, n)
	for i := range events {
		events[i] = event(i)
	}
	return events
}

// runManyConflicts mixes new events, repeated ones and conflicts, with events before the call and
// within it, for users whose histories are short and long.
func runManyConflicts(t *tester) {
	before := map[string]int{"a": 0, "b": 3, "c": 700}
	for user, n := range before {
		if n > 0 {
			t.append(records(user, 0, n)...)
		}
	}
	var all []store.Record
	var want []outcome
	add := func(r store.Record, o outcome) { all, want = append(all, r), append(want, o) }
	for user, n := range before {
		for i := range 100 {
			revision := uint64(n + i + 1)
			add(store.Record{User: user, Event: event(n + i)}, outcome{Revision: revision})
			add(clash(user, n+i), conflict(revision))
			if n > 0 {
				add(clash(user, i%n), conflict(uint64(i%n+1)))
				add(store.Record{User: user, Event: event(i % n)}, duplicate(uint64(i%n+1)))
			}
			add(store.Record{User: user, Event: event(n + i)}, duplicate(revision))
		}
	}
	t.wantResults(want, all...)
	for i := range want {
		if want[i].Conflict == 0 {
			want[i].Duplicate = true
		}
	}
	t.wantResults(want, all...)
	for user, n := range before {
		t.wantHistory(user, series(n+100)...)
	}
}

func runConcurrentCalls(t *tester) {
	const callers, calls = 16, 20
	users := []string{"a", "b", "c"}
	seen := make([]map[uint64]bool, len(users)) // revisions given out
	for i := range seen {
		seen[i] = map[uint64]bool{}
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			for call := range calls {
				var batch []store.Record
				for i := range users {
					// Different callers name the users in different orders.
					e := event(call)
					e.ID = fmt.Sprintf("%d/%d", caller, call)
					batch = append(batch,
						store.Record{User: users[(i+caller)%len(users)], Event: e})
				}
				results, err := t.Append(t.ctx, batch)
				if err != nil {
					t.Errorf("Append: %v", err)
					return
				}
				mu.Lock()
				for i, r := range results {
					u := (i + caller) % len(users)
					if r.Duplicate || seen[u][r.Revision] {
						t.Errorf("result %+v given for a new event, or given twice", r)
					}
					seen[u][r.Revision] = true
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for i, u := range users {
		events := t.read(u, 0)
		if len(events) != callers*calls || len(seen[i]) != callers*calls {
			t.Errorf("user %q: %d events and %d revisions given out, want %d", u, len(events),
				len(seen[i]), callers*calls)
		}
	}
}

func runConcurrentDuplicates(t *tester) {
	const callers, events = 16, 10
	results := make([][]store.Result, callers)
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			for i := range events {
				r, err := t.Append(t.ctx, records("u", i, i+1))
				if err != nil {
					t.Errorf("Append: %v", err)
					return
				}
				results[caller] = append(results[caller], r...)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	var want []store.Event
	for i := range events {
		want = append(want, event(i))
		applied := 0
		for caller := range callers {
			if got := results[caller][i]; got.Revision != uint64(i+1) {
				t.Errorf("caller %d, event %d: revision %d, want %d", caller, i, got.Revision, i+1)
			} else if !got.Duplicate {
				applied++
			}
		}
		if applied != 1 {
			t.Errorf("event %d was applied by %d callers, want 1", i, applied)
		}
	}
	t.wantHistory("u", want...)
}
