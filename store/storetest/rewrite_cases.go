package storetest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/store"
)

// rewriteCases are about histories that are replaced.
var rewriteCases = []testCase{
	{
		name: "rewrite",
		explanation: "Rewrite gives a history the events that its function returns, with " +
			"revisions from 1 on and versions that no history had; events that are not in it " +
			"are forgotten, and those in it are still known",
		run: runRewrite,
	},
	{
		name: "rewrite-nothing",
		explanation: "a history for which nil is returned keeps its version, and one that is " +
			"empty and stays so has none",
		run: func(t *tester) {
			head := t.append(records("u", 0, 3)...)[2].Version
			t.wantRewrite([]string{"u", "nobody"}, [][]store.Event{series(3), nil},
				[][]store.Event{nil, nil}, []uint64{3, 0})
			t.wantRewrite([]string{"nobody"}, [][]store.Event{nil}, [][]store.Event{{}},
				[]uint64{0})
			t.wantSince("u", store.Version{}, head, true, series(3))
			t.wantUsers(map[string]uint64{"u": 3})
		},
	},
	{
		name:        "rewrite-erases",
		explanation: "an empty history erases the user",
		run: func(t *tester) {
			t.append(records("u", 0, 3)...)
			t.append(records("v", 0, 1)...)
			t.wantRewrite([]string{"u"}, [][]store.Event{series(3)}, [][]store.Event{{}},
				[]uint64{0})
			t.wantUsers(map[string]uint64{"v": 1})
			t.wantResults(revisions(1), records("u", 2, 3)...)
		},
	},
	{
		name: "rewrite-several",
		explanation: "the histories of several users are replaced together, and one that had " +
			"none begins",
		run: func(t *tester) {
			t.append(records("u", 0, 100)...)
			t.append(records("v", 100, 103)...)
			all := append(series(100), event(100), event(101), event(102))
			t.wantRewrite([]string{"v", "w", "u"},
				[][]store.Event{{event(100), event(101), event(102)}, nil, series(100)},
				[][]store.Event{nil, all, {}}, []uint64{3, 103, 0})
			t.wantHistory("w", all...)
			t.wantUsers(map[string]uint64{"v": 3, "w": 103})
		},
	},
	{
		name: "rewrite-refused",
		explanation: "malformed users and events, users and event ids that are there twice, and " +
			"a closed store change nothing",
		run: runRewriteRefused,
	},
	{
		name: "rewrite-against-append",
		explanation: "events that are appended while others are taken out of the same history " +
			"are neither lost nor doubled, and those that were taken out stay out",
		run: runRewriteAgainstAppend,
	},
	{
		name:        "rewrite-against-rewrite",
		explanation: "a history that another call replaced after it was read is read again",
		run:         runRewriteAgainstRewrite,
	},
}

// wantRewrite rewrites histories, and checks what the function got and what the revisions are.
func (t *tester) wantRewrite(
	users []string, before, after [][]store.Event, revisions []uint64,
) []store.Version {
	t.Helper()
	var got [][]store.Event
	versions, err := t.Rewrite(t.ctx, users, func(h [][]store.Event) [][]store.Event {
		got = nil
		for _, events := range h {
			got = append(got, slices.Clone(events))
		}
		return after
	})
	t.succeed(err)
	if diff := cmp.Diff(before, got); diff != "" {
		t.Errorf("Rewrite got other histories (-want +got):\n%s", diff)
	}
	for i, user := range users {
		head, _, err := t.Since(t.ctx, user, store.Version{}, nil)
		if err != nil || head != versions[i] || head.Revision != revisions[i] {
			t.Errorf("%q has version %v, %v; Rewrite returned %v, want revision %d", user, head,
				err, versions[i], revisions[i])
		}
	}
	return versions
}

func runRewrite(t *tester) {
	const n = 150
	var former []store.Version
	for _, r := range t.append(records("u", 0, n)...) {
		former = append(former, r.Version)
	}
	t.append(records("v", 0, 2)...)
	var left []store.Event
	for i := n - 1; i >= 0; i-- { // in another order
		if i%3 > 0 {
			left = append(left, event(i))
		}
	}
	head := t.wantRewrite([]string{"u"}, [][]store.Event{series(n)}, [][]store.Event{left},
		[]uint64{uint64(len(left))})[0]
	t.wantHistory("u", left...)
	t.wantHistory("v", event(0), event(1))
	for _, known := range former {
		t.wantSince("u", known, head, false, left)
	}
	t.wantResults([]outcome{duplicate(1)}, records("u", n-1, n)...)
	t.wantResults(revisions(head.Revision+1), records("u", n-3, n-2)...) // taken out before
	if r := t.append(records("u", n, n+1)...)[0]; r.Revision != head.Revision+2 {
		t.Errorf("the next event has %+v", r)
	}
	t.wantSince("u", head, t.append(records("u", n, n+1)...)[0].Version, true,
		[]store.Event{event(n - 3), event(n)})
}

func runRewriteRefused(t *tester) {
	head := t.append(records("u", 0, 2)...)[1].Version
	long := string(make([]byte, store.MaxIDBytes+1))
	bad := event(1)
	bad.Item = ""
	for name, c := range map[string]struct {
		users []string
		after [][]store.Event
	}{
		"an empty user":     {[]string{""}, [][]store.Event{nil}},
		"a long user":       {[]string{long}, [][]store.Event{nil}},
		"a user twice":      {[]string{"u", "u"}, [][]store.Event{{}, {}}},
		"too few histories": {[]string{"u", "v"}, [][]store.Event{{}}},
		"a malformed event": {[]string{"u"}, [][]store.Event{{event(0), bad}}},
		"an event id twice": {[]string{"u", "v"},
			[][]store.Event{{}, {event(0), event(1), event(0)}}},
		"too many histories": {[]string{"u"}, [][]store.Event{{}, {}}},
	} {
		_, err := t.Rewrite(t.ctx, c.users,
			func([][]store.Event) [][]store.Event { return c.after })
		t.fails(err, store.ErrInvalid, name)
	}
	t.wantSince("u", store.Version{}, head, true, series(2))
	t.wantUsers(map[string]uint64{"u": 2})
	t.end()
	_, err := t.Rewrite(t.ctx, []string{"u"}, func(h [][]store.Event) [][]store.Event { return h })
	t.fails(err, store.ErrClosed, "a closed store")
}

func runRewriteAgainstAppend(t *tester) {
	const writers, each = 3, 60
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() {
			for i := range each {
				e := event(i)
				e.ID = fmt.Sprint(w, "/", i)
				e.Value = float64(i % 2)
				rs, err := t.Append(t.ctx, []store.Record{{User: "u", Event: e}})
				if err != nil || rs[0].Err != nil || rs[0].Duplicate {
					t.Errorf("Append: %+v, %v", rs, err)
				}
			}
		})
	}
	odd := func(e store.Event) bool { return e.Value == 1 }
	rewrite := func() {
		_, err := t.Rewrite(t.ctx, []string{"u"}, func(h [][]store.Event) [][]store.Event {
			return [][]store.Event{slices.DeleteFunc(slices.Clone(h[0]), odd)}
		})
		if err != nil {
			t.Errorf("Rewrite: %v", err)
		}
	}
	for range 2 {
		running.Go(func() {
			for range 20 {
				rewrite()
			}
		})
	}
	running.Wait()
	rewrite()
	next := [writers]int{}
	for _, e := range t.read("u", 0) {
		var w, i int
		if _, err := fmt.Sscanf(e.ID, "%d/%d", &w, &i); err != nil || i != next[w] {
			t.Fatalf("event %q, want %d of writer %d", e.ID, next[w], w)
		}
		next[w] += 2
	}
	for w := range writers {
		if next[w] != each {
			t.Errorf("writer %d: events up to %d, want %d", w, next[w], each)
		}
	}
}

// runRewriteAgainstRewrite has two rewrites read one history while a third holds up the writes. The
// one that comes second must begin anew, or it writes back what the first has removed.
func runRewriteAgainstRewrite(t *tester) {
	t.append(store.Record{User: "u", Event: event(0)}, store.Record{User: "u", Event: event(1)})
	held, release := make(chan struct{}), make(chan struct{})
	rewrite := func(user string, change func([]store.Event) []store.Event) {
		_, err := t.Rewrite(t.ctx, []string{user}, func(h [][]store.Event) [][]store.Event {
			return [][]store.Event{change(slices.Clone(h[0]))}
		})
		if err != nil {
			t.Errorf("Rewrite: %v", err)
		}
	}
	var running sync.WaitGroup
	once := sync.OnceFunc(func() { close(held) })
	running.Go(func() {
		rewrite("v", func(h []store.Event) []store.Event {
			once()
			<-release
			return h
		})
	})
	<-held
	for i := range 2 {
		running.Go(func() {
			rewrite("u", func(h []store.Event) []store.Event {
				return slices.DeleteFunc(h, func(e store.Event) bool { return e.ID == event(i).ID })
			})
		})
	}
	time.Sleep(50 * time.Millisecond) // nothing shows that both have read
	close(release)
	running.Wait()
	if left := t.read("u", 0); len(left) > 0 {
		t.Errorf("%d events are left, want none", len(left))
	}
}
