package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/gsimc/gsimc/store"
)

var lifecycleCases = []testCase{
	{
		name: "erase",
		explanation: "Erase removes one user's history and says how long it was; the next event " +
			"has revision 1 and old event ids are forgotten",
		run: func(t *tester) {
			for _, u := range []string{"a", "aa", "b"} {
				t.append(records(u, 0, 3)...)
			}
			t.wantErased("a", 3)
			t.wantHistory("a")
			t.wantUsers(map[string]uint64{"aa": 3, "b": 3})
			t.wantErased("a", 0)
			reused := event(2)
			reused.Item = "another"
			t.wantResults(revisions(1), store.Record{User: "a", Event: reused})
			t.wantHistory("a", reused)
			t.wantHistory("aa", event(0), event(1), event(2))
		},
	},
	{
		name: "forgotten",
		explanation: "a Forgetter without erasures returns at once, and waits for them no longer " +
			"than its context lasts",
		run: runForgotten,
	},
	{
		name: "erase-against-append",
		explanation: "an Append at the same time as an Erase is erased as a whole or begins the " +
			"new history: never a gap, never half a call",
		run: runEraseAgainstAppend,
	},
	{
		name: "erase-orders-append",
		explanation: "an event whose Append has ended when an Erase begins is gone, and one " +
			"whose Append begins when the last Erase has ended is there",
		run: runEraseOrdersAppend,
	},
	{
		name: "read-against-append",
		explanation: "readers of a user at the same time as writers see whole calls and gapless " +
			"histories",
		run: runReadAgainstAppend,
	},
	{
		name: "each-against-append",
		explanation: "Each at the same time as writers sees whole calls, of all users in " +
			"them",
		across: true,
		run:    runEachAgainstAppend,
	},
	{
		name:        "closed",
		explanation: "after Close every call returns ErrClosed",
		run: func(t *tester) {
			t.append(records("u", 0, 1)...)
			t.end()
			_, appendErr := t.Append(t.ctx, records("u", 1, 2))
			_, emptyErr := t.Append(t.ctx, nil)
			_, eraseErr := t.Erase(t.ctx, "u")
			_, _, sinceErr := t.Since(t.ctx, "u", store.Version{}, nil)
			_, statsErr := t.Stats(t.ctx)
			t.allFail(store.ErrClosed, map[string]error{
				"Append": appendErr, "empty Append": emptyErr, "Erase": eraseErr,
				"Since": sinceErr, "Stats": statsErr,
				"Each":  t.Each(t.ctx, 0, 1, func(string, store.Version) error { return nil }),
				"Close": t.Close(),
			})
		},
	},
	{
		name:        "close-against-calls",
		explanation: "calls at the same time as Close either complete or return ErrClosed",
		run: func(t *tester) {
			var wg sync.WaitGroup
			for caller := range 8 {
				wg.Go(func() {
					for i := 0; ; i++ {
						_, err := t.Append(t.ctx, records(fmt.Sprint("u", caller), i, i+1))
						if err == nil {
							_, err = Revision(t.ctx, t.Store, "u0")
						}
						if errors.Is(err, store.ErrClosed) {
							return
						}
						if err != nil {
							t.Errorf("got error %v, want nil or ErrClosed", err)
							return
						}
					}
				})
			}
			t.fails(t.Close(), nil, "Close") // and the calls end in any case
			t.closed = true
			wg.Wait()
		},
	},
}

func runForgotten(t *tester) {
	f, ok := t.Store.(store.Forgetter)
	if !ok {
		t.Skip("the store does not know what is in its files")
	}
	t.append(records("u", 0, 3)...)
	t.succeed(f.Forgotten(t.ctx)) // without an erasure
	t.erase("u")
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	t.fails(f.Forgotten(ctx), context.Canceled, "Forgotten with an ended context")
	t.wantHistory("u")
}

func runEraseAgainstAppend(t *tester) {
	const pairs = 200
	var wg sync.WaitGroup
	var appended, erased atomic.Int64
	wg.Go(func() {
		for i := range pairs {
			results, err := t.Append(t.ctx, records("u", 2*i, 2*i+2))
			if err != nil || results[1].Revision != results[0].Revision+1 ||
				results[0].Revision%2 != 1 {
				t.Errorf("Append of a pair: got %v, %v, want an odd and the next revision", results,
					err)
			}
			appended.Add(2)
		}
	})
	wg.Go(func() {
		for appended.Load() < 2*pairs && !t.Failed() {
			n, err := t.Erase(t.ctx, "u")
			if err != nil || n%2 != 0 {
				t.Errorf("Erase: got %d, %v, want an even number", n, err)
			}
			erased.Add(int64(n))
		}
	})
	wg.Wait()
	left := t.read("u", 0)
	if got := erased.Load() + int64(len(left)); got != 2*pairs {
		t.Errorf("%d events were erased and %d are left, want %d together", erased.Load(),
			len(left), 2*pairs)
	}
	for i, e := range left {
		if e != event(2*pairs-len(left)+i) {
			t.Errorf("event %d of those left is %+v, want the last ones in order", i, e)
		}
	}
}

// span is when a call began and ended, by a clock that all callers share.
type span struct{ began, ended int64 }

func runEraseOrdersAppend(t *tester) {
	const writers, each, erasures = 4, 100, 20
	var clock, written atomic.Int64
	timed := func(call func() error) span {
		began := clock.Add(1)
		if err := call(); err != nil {
			t.Error(err)
		}
		return span{began, clock.Add(1)}
	}
	var wg sync.WaitGroup
	appends := make([]span, writers*each)
	for w := range writers {
		wg.Go(func() {
			for i := w * each; i < (w+1)*each; i++ {
				appends[i] = timed(func() error {
					_, err := t.Append(t.ctx, records("u", i, i+1))
					return err
				})
				written.Add(1)
			}
		})
	}
	erases := make([]span, erasures)
	wg.Go(func() {
		for i := range erases {
			for written.Load() < int64(i*writers*each/(2*erasures)) && !t.Failed() {
				runtime.Gosched()
			}
			erases[i] = timed(func() error {
				_, err := t.Erase(t.ctx, "u")
				return err
			})
		}
	})
	wg.Wait()
	left := map[string]bool{}
	for _, e := range t.read("u", 0) {
		left[e.ID] = true
	}
	last := erases[erasures-1]
	for i, a := range appends {
		switch is := left[event(i).ID]; {
		case is && a.ended < last.began:
			t.Errorf("event %d is there, and was erased after its Append", i)
		case !is && a.began > last.ended:
			t.Errorf("event %d is gone, and was added after the last Erase", i)
		}
	}
}

func runReadAgainstAppend(t *tester) {
	againstAppend(t, func() error {
		events, err := t.tryRead("u", 0)
		if err != nil || len(events)%3 != 0 {
			return fmt.Errorf("got %d events, %w, want a multiple of 3", len(events), err)
		}
		return nil
	})
}

func runEachAgainstAppend(t *tester) {
	againstAppend(t, func() error {
		seen := map[string]uint64{}
		err := t.Each(t.ctx, 0, 1, func(user string, head store.Version) error {
			seen[user] = head.Revision
			return nil
		})
		if err != nil || seen["u"] != 3*seen["v"] {
			return fmt.Errorf("got %v, %w, want three times as many events of u as of v", seen,
				err)
		}
		return nil
	})
}

// againstAppend calls a reader while calls append three events of u and one of v each.
func againstAppend(t *tester, read func() error) {
	const calls = 100
	var done atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for !done.Load() && !t.Failed() {
				if err := read(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	defer wg.Wait()
	defer done.Store(true)
	for i := range calls {
		t.append(append(records("u", 3*i, 3*i+3), records("v", i, i+1)...)...)
	}
}
