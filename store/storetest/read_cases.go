package storetest

import (
	"errors"
	"maps"
	"math"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/store"
)

var readCases = []testCase{
	{
		name: "unknown-user",
		explanation: "a user without a history has revision 0 and no events, whatever the id " +
			"looks like; that is no error",
		run: func(t *tester) {
			t.append(records("a", 0, 1)...)
			for _, u := range []string{"", "b", "aa", "A", strings.Repeat("a", store.MaxIDBytes+1),
				strings.Repeat("a", 1<<16+1)} {
				t.wantHistory(u)
				t.wantErased(u, 0)
			}
			t.wantHistory("a", event(0))
		},
	},
	{
		name:        "read-after",
		explanation: "Since passes exactly the events after a known version",
		run: func(t *tester) {
			t.append(records("u", 0, 5)...)
			t.append(records("v", 0, 9)...)
			all := []store.Event{event(0), event(1), event(2), event(3), event(4)}
			for after := range 5 {
				if diff := cmp.Diff(all[after:], t.read("u", uint64(after))); diff != "" {
					t.Errorf("Read after %d differs (-want +got):\n%s", after, diff)
				}
			}
			for _, after := range []uint64{5, 6, math.MaxUint64 - 1, math.MaxUint64} {
				if got := t.read("u", after); len(got) != 0 {
					t.Errorf("Read after %d passed %d events, want none", after, len(got))
				}
			}
		},
	},
	{
		name: "callback-error",
		explanation: "the first error of the callback ends Since and Each and is returned as it " +
			"is",
		run: func(t *tester) {
			t.append(records("u", 0, 5)...)
			t.append(records("v", 0, 5)...)
			enough := errors.New("enough")
			calls := 0
			passed := func(v store.Version, _ store.Event) error {
				calls++
				if v.Revision == 3 {
					return enough
				}
				return nil
			}
			_, _, err := t.Since(t.ctx, "u", store.Version{}, passed)
			if err != enough || calls != 3 {
				t.Errorf("Since: got error %v after %d calls, want %v after 3", err, calls, enough)
			}
			calls = 0
			err = t.Each(t.ctx, 0, 1,
				func(string, store.Version) error { calls++; return enough })
			if err != enough || calls != 1 {
				t.Errorf("Each: got error %v after %d calls, want %v after 1", err, calls, enough)
			}
		},
	},
	{
		name: "callback-uses-store",
		explanation: "callbacks may call the store; Since shows the state as of one moment and " +
			"not what the callbacks add, and Each every user who was there",
		run: func(t *tester) {
			t.append(records("u", 0, 3)...)
			next := 3
			add := func(store.Version, store.Event) error {
				t.append(records("u", next, next+1)...)
				next++
				return nil
			}
			_, _, err := t.Since(t.ctx, "u", store.Version{}, add)
			if err != nil || next != 6 {
				t.Errorf("Since: %v, %d events added, want 3", err, next-3)
			}
			t.append(records("v", 0, 1)...)
			seen := map[string]bool{}
			err = t.Each(t.ctx, 0, 1, func(user string, head store.Version) error {
				seen[user] = true
				t.append(records("u", next, next+1)...)
				next++
				return nil
			})
			if err != nil || !maps.Equal(seen, map[string]bool{"u": true, "v": true}) {
				t.Errorf("Each: %v, users %v, want u and v", err, seen)
			}
		},
	},
	{
		name: "each-one-moment",
		explanation: "Each shows the state of all users as of one moment and not what the " +
			"callbacks add",
		across: true,
		run: func(t *tester) {
			t.append(records("u", 0, 6)...)
			t.append(records("v", 0, 1)...)
			next, seen := 6, map[string]uint64{}
			err := t.Each(t.ctx, 0, 1, func(user string, head store.Version) error {
				seen[user] = head.Revision
				t.append(store.Record{User: user + "'", Event: event(0)},
					store.Record{User: "u", Event: event(next)})
				next++
				return nil
			})
			if diff := cmp.Diff(map[string]uint64{"u": 6, "v": 1}, seen); err != nil || diff != "" {
				t.Errorf("Each: %v, users differ (-want +got):\n%s", err, diff)
			}
			t.wantUsers(map[string]uint64{"u": 8, "v": 1, "u'": 1, "v'": 1})
		},
	},
	{
		name: "any-bytes",
		explanation: "ids may hold any bytes, be prefixes of one another, differ in case only, " +
			"or be 256 bytes long; they are compared bytewise",
		run: runAnyBytes,
	},
	{
		name: "round-trip",
		explanation: "every part of an event comes back as it was: value, nanoseconds, times " +
			"before 1970, the zero time, an empty type",
		run: runRoundTrip,
	},
	{
		name:        "strings-stay-valid",
		explanation: "strings passed to callbacks stay as they are when the store is written to",
		run: func(t *tester) {
			t.append(records("u", 0, 100)...)
			before := t.read("u", 0)
			var users []string
			_ = t.Each(t.ctx, 0, 1, func(user string, _ store.Version) error {
				users = append(users, user)
				return nil
			})
			for i := range 20 {
				t.append(records(strings.Repeat("x", i+1), 0, 50)...)
			}
			t.append(records("u", 100, 200)...)
			t.read("u", 0)
			for i, e := range before {
				if diff := cmp.Diff(event(i), e); diff != "" {
					t.Fatalf("event %d changed (-want +got):\n%s", i, diff)
				}
			}
			if diff := cmp.Diff([]string{"u"}, users); diff != "" {
				t.Errorf("users changed (-want +got):\n%s", diff)
			}
		},
	},
	{
		name:        "large-history",
		explanation: "a history of thousands of events is read in order from any revision",
		run: func(t *tester) {
			const n, step = 5000, 500
			for from := 0; from < n; from += step {
				t.append(records("u", from, from+step)...)
			}
			for _, after := range []int{0, 1, 255, 256, 4999} {
				events := t.read("u", uint64(after))
				if len(events) != n-after {
					t.Fatalf("Read after %d passed %d events, want %d", after, len(events), n-after)
				}
				for i, e := range events {
					if e != event(after+i) {
						t.Fatalf("Read after %d: event %d is %+v, want %+v", after, i, e,
							event(after+i))
					}
				}
			}
		},
	},
	{
		name:        "users",
		explanation: "Each passes every user with a history once with its revision",
		run: func(t *tester) {
			t.wantUsers(map[string]uint64{})
			t.append(append(records("a", 0, 3),
				append(records("b", 0, 1), records("ab", 0, 300)...)...)...)
			t.append(records("b", 1, 2)...)
			t.wantUsers(map[string]uint64{"a": 3, "b": 2, "ab": 300})
		},
	},
	{
		name:        "stats",
		explanation: "Stats counts the users, or says -1, and gives the bytes in use",
		run: func(t *tester) {
			t.append(append(records("a", 0, 3), records("b", 0, 1)...)...)
			got, err := t.Stats(t.ctx)
			if err != nil || got.Users != 2 && got.Users != -1 || got.Bytes <= 0 {
				t.Errorf("got %+v, %v, want 2 or -1 users and some bytes", got, err)
			}
		},
	},
}

func runAnyBytes(t *tester) {
	ids := []string{
		"a", "aa", "aaa", "A", "b", "ü", "u\u0308", "\u00fc\u0000", "\x00", "\x00\x00", "\x00\x01",
		"\x01", "\x02", "\x03", "a\x00", "a\x01",
		"a\x00\x00\x00\x00\x00\x00\x00\x01", "\xff", "\xff\xff", "a\xff", " ", "a ", "\n", "format",
		"/", "a/b", "😀",
		strings.Repeat("a", 255), strings.Repeat("a", store.MaxIDBytes),
		strings.Repeat("\xff", store.MaxIDBytes),
	}
	users := map[string]uint64{}
	for i, user := range ids {
		n := i%3 + 1
		for j := range n {
			// The same odd strings as event ids, items and types, so that they are told apart there
			// as well.
			e := store.Event{ID: ids[(i+j)%len(ids)], Item: ids[(i+2*j)%len(ids)], Type: ids[j],
				Value: float64(i)}
			t.wantResults(revisions(uint64(j+1)), store.Record{User: user, Event: e})
		}
		users[user] = uint64(n)
	}
	t.wantUsers(users)
	for i, user := range ids {
		for j, e := range t.read(user, 0) {
			want := store.Event{ID: ids[(i+j)%len(ids)], Item: ids[(i+2*j)%len(ids)], Type: ids[j],
				Value: float64(i)}
			if e != want {
				t.Errorf("user %q, event %d: got %+v, want %+v", user, j, e, want)
			}
		}
	}
	for i, user := range ids {
		if n, err := t.Erase(t.ctx, user); err != nil || n != users[user] {
			t.Errorf("Erase of %q: got %d, %v, want %d", user, n, err, users[user])
		}
		delete(users, ids[i])
		t.wantUsers(users)
	}
}

func runRoundTrip(t *tester) {
	var want []store.Event
	base := store.Event{Item: "i", Type: "view", Time: time.Unix(0, 0).UTC(), Value: 1}
	add := func(change func(*store.Event)) {
		e := base
		e.ID = string(rune('a' + len(want)))
		change(&e)
		want = append(want, e)
	}
	for _, v := range []float64{0, 1, -1, 0.1, math.MaxFloat64, -math.SmallestNonzeroFloat64,
		math.Inf(1), math.Inf(-1)} {
		add(func(e *store.Event) { e.Value = v })
	}
	for _, at := range []time.Time{
		{}, time.Unix(0, 0), time.Unix(0, 1), time.Unix(0, -1), time.Unix(-1, 999_999_999),
		time.Unix(1, 123_456_789),
		time.Date(1066, 10, 14, 9, 0, 0, 7, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
		time.Date(2024, 2, 29, 1, 2, 3, 4, time.FixedZone("east", 7*3600)),
	} {
		add(func(e *store.Event) { e.Time = at.UTC() })
	}
	add(func(e *store.Event) { e.Type = "" })
	add(func(e *store.Event) {
		e.Item, e.Type = strings.Repeat("i", store.MaxIDBytes),
			strings.Repeat("t", store.MaxIDBytes)
	})
	for _, e := range want {
		e.Time = e.Time.In(time.FixedZone("west", -5*3600)) // comes back in UTC all the same
		if e.Time.IsZero() {
			e.Time = time.Time{}
		}
		t.append(store.Record{User: "u", Event: e})
	}
	t.wantHistory("u", want...)
	for i, e := range t.read("u", 0) {
		if e.Time.Location() != time.UTC || e.Time.IsZero() != want[i].Time.IsZero() {
			t.Errorf("event %d: time %v, want UTC and zero only if it was", i, e.Time)
		}
	}
}
