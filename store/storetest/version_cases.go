package storetest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/store"
)

// versionCases are about the names of histories.
var versionCases = []testCase{
	{
		name: "versions-of-lives",
		explanation: "a user who is erased and returns with equally many events has other " +
			"versions than before, and so has another user",
		run: func(t *tester) {
			seen := map[store.Version]bool{}
			for range 5 {
				for _, user := range []string{"u", "v"} {
					for _, r := range t.append(records(user, 0, 3)...) {
						if seen[r.Version] {
							t.Errorf("two histories have the version %v", r.Version)
						}
						seen[r.Version] = true
					}
					t.erase(user)
				}
			}
		},
	},
	{
		name: "versions-agree",
		explanation: "results, duplicates, Since and Each tell the same versions, and Before is " +
			"the mark of the version before",
		run: runVersionsAgree,
	},
	{
		name: "since-prefix",
		explanation: "Since any version of the history passes exactly what it lacks, with same " +
			"set; a nil function asks for the versions alone",
		run: func(t *tester) {
			const n = 150
			versions := []store.Version{{}}
			for _, r := range t.append(records("u", 0, n)...) {
				versions = append(versions, r.Version)
			}
			for _, known := range versions {
				t.wantSince("u", known, versions[n], true, series(n)[known.Revision:])
				t.wantSince("u", known, versions[n], true, nil)
			}
		},
	},
	{
		name: "since-foreign",
		explanation: "Since a version that is not a beginning of the history passes all of it, " +
			"with same false: that of another user or of a former life, one beyond the end, or " +
			"one that never was",
		run: runSinceForeign,
	},
	{
		name: "versions-of-readers",
		explanation: "while a user is written to, erased and returns, each reader sees versions " +
			"that name the same events at all times, and what it adds to a known version is the " +
			"rest of that history",
		run: runVersionsOfReaders,
	},
	{
		name: "since-replaced",
		explanation: "a reader of a long history that grows, is replaced or is erased while it " +
			"is passed ends with one history as a whole: what comes after revision 1 was passed " +
			"last",
		run: runSinceReplaced,
	},
	{
		name:        "shards",
		explanation: "the shards of Each are disjoint, miss nobody, and are those of store.Shard",
		run:         runShards,
	},
	{
		name:        "identity",
		explanation: "the identity is not zero and stays",
		run: func(t *tester) {
			id := t.Identity()
			t.append(records("u", 0, 2)...)
			if again := t.Identity(); again != id || id.ID == ([16]byte{}) {
				t.Errorf("got %v and %v", id, again)
			}
		},
	},
}

// wantSince checks an answer of Since. Without wanted events it asks for the versions alone.
func (t *tester) wantSince(
	user string, known, head store.Version, same bool, want []store.Event,
) {
	t.Helper()
	var got []store.Event
	fn := func(v store.Version, e store.Event) error {
		if wanted := head.Revision - uint64(len(want)-len(got)-1); v.Revision != wanted {
			t.Errorf("Since %v: revision %d, want %d", known, v.Revision, wanted)
		}
		if len(got) == len(want)-1 && v != head {
			t.Errorf("Since %v: the last version is %v, want %v", known, v, head)
		}
		got = append(got, e)
		return nil
	}
	if want == nil {
		fn = nil
	}
	gotHead, gotSame, err := t.Since(t.ctx, user, known, fn)
	if err != nil || gotHead != head || gotSame != same {
		t.Errorf("Since %v: got %v, %v, %v, want %v, %v", known, gotHead, gotSame, err, head, same)
	}
	if diff := cmp.Diff(want, got); fn != nil && len(want)+len(got) > 0 && diff != "" {
		t.Errorf("Since %v: events (-want +got):\n%s", known, diff)
	}
}

func runVersionsAgree(t *tester) {
	var first []store.Result
	for i := range 5 {
		first = append(first, t.append(records("u", i, i+1)...)...)
	}
	before := store.Version{}
	for i, r := range first {
		if r.Before != before.Mark {
			t.Errorf("event %d: Before is not the mark of %v: %+v", i, before, r)
		}
		before = r.Version
	}
	for i, r := range t.append(records("u", 0, 5)...) {
		want := first[i]
		want.Duplicate = true
		if r != want {
			t.Errorf("event %d again: got %+v, want %+v", i, r, want)
		}
	}
	at := 0
	_, _, err := t.Since(t.ctx, "u", store.Version{}, func(v store.Version, _ store.Event) error {
		if v != first[at].Version {
			t.Errorf("Since: got %v, want %v", v, first[at].Version)
		}
		at++
		return nil
	})
	t.succeed(err)
	t.succeed(t.Each(t.ctx, 0, 1, func(_ string, head store.Version) error {
		if head != before {
			t.Errorf("Each: got %v, want %v", head, before)
		}
		return nil
	}))
}

func runSinceForeign(t *tester) {
	former := t.append(records("u", 0, 9)...)
	other := t.append(records("v", 0, 9)...)
	t.erase("u")
	foreign := []store.Version{former[0].Version, former[4].Version, former[8].Version,
		other[0].Version, other[4].Version, other[8].Version}
	for _, known := range foreign {
		t.wantSince("u", known, store.Version{}, false, []store.Event{})
		t.wantSince("nobody", known, store.Version{}, false, []store.Event{})
	}
	now := t.append(records("u", 0, 5)...)
	head := now[4].Version
	foreign = append(foreign, store.Version{Revision: 6, Mark: head.Mark},
		store.Version{Revision: 1 << 40, Mark: head.Mark},
		store.Version{Revision: head.Revision, Mark: head.Mark + 1},
		store.Version{Revision: 2, Mark: now[1].Mark ^ 1<<63})
	for _, known := range foreign {
		t.wantSince("u", known, head, false, series(5))
		t.wantSince("u", known, head, false, nil)
	}
}

func runVersionsOfReaders(t *tester) {
	const lives = 60
	var mu sync.Mutex
	named := map[store.Version]string{} // ids of the events
	note := func(v store.Version, events string) error {
		mu.Lock()
		defer mu.Unlock()
		if was, ok := named[v]; ok && was != events {
			return fmt.Errorf("version %v names two histories", v)
		}
		named[v] = events
		return nil
	}
	done := make(chan struct{})
	var readers sync.WaitGroup
	defer func() {
		close(done)
		readers.Wait()
	}()
	for range 2 {
		readers.Go(func() {
			known, events := store.Version{}, ""
			for {
				select {
				case <-done:
					return
				default:
				}
				head, same, err := t.Since(t.ctx, "u", known,
					func(v store.Version, e store.Event) error {
						if v.Revision == 1 {
							events = ""
						}
						events += e.ID + " "
						known = v
						return note(v, events)
					})
				if err == nil && head != known && (same || head.Revision > 0) {
					err = fmt.Errorf("head %v after %v, same %v", head, known, same)
				}
				if err != nil {
					t.Errorf("Since: %v", err)
					return
				}
				if known = head; head.Revision == 0 {
					events = ""
				}
			}
		})
	}
	for life := range lives {
		for i := range 1 + life%4 {
			e := event(i)
			e.ID = fmt.Sprint(life, "/", i)
			t.append(store.Record{User: "u", Event: e})
		}
		t.erase("u")
	}
}

func runShards(t *tester) {
	const users, shards = 300, 7
	for u := range users {
		t.append(records(fmt.Sprint("user-", u), 0, 1+u%3)...)
	}
	seen := map[string]int{}
	largest := 0
	for shard := range shards {
		n := 0
		t.succeed(t.Each(t.ctx, shard, shards, func(user string, head store.Version) error {
			if head.Revision == 0 || store.Shard(user, shards) != shard {
				t.Errorf("shard %d passed %q with %v", shard, user, head)
			}
			n++
			seen[user]++
			return nil
		}))
		largest = max(largest, n)
	}
	for u := range users {
		if n := seen[fmt.Sprint("user-", u)]; n != 1 {
			t.Errorf("user %d is in %d shards", u, n)
		}
	}
	if largest > 2*users/shards {
		t.Errorf("a shard has %d of %d users", largest, users)
	}
}

func runSinceReplaced(t *tester) {
	const long, short = 4500, 2300
	const grows = long + 1
	for _, after := range []int{grows, 0, 3, short} {
		user := fmt.Sprint("user-", after)
		for from := 0; from < long; from += 500 {
			t.append(records(user, from, from+500)...)
		}
		var got []store.Event
		replaced := false
		head, same, err := t.Since(t.ctx, user, store.Version{},
			func(v store.Version, e store.Event) error {
				if v.Revision == 1 {
					got = nil
				}
				if got = append(got, e); len(got) < 10 || replaced {
					return nil
				}
				replaced = true
				if after == grows {
					t.append(records(user, long, grows)...)
					return nil
				}
				_, err := t.Rewrite(t.ctx, []string{user},
					func([][]store.Event) [][]store.Event { return [][]store.Event{series(after)} })
				return err
			})
		t.succeed(err)
		if head.Revision == 0 && !same {
			got = nil
		}
		want := series(after)
		if head.Revision == long {
			want = series(long)
		}
		if int(head.Revision) != len(want) || !slices.Equal(got, want) {
			t.Errorf("replaced by %d events: head %v, same %v, and %d events passed", after, head,
				same, len(got))
		}
	}
}
