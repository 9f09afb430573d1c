package load_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
	"github.com/gsimc/gsimc/store/storetest/load"
)

// run writes to a store for some hundred calls, and calls disturb in the middle.
func run(t *testing.T, s store.Store, o load.Options, disturb func()) *load.Report {
	t.Helper()
	for g := range 2 {
		var users []string
		for u := range 12 {
			users = append(users, fmt.Sprint("user-", g, "-", u))
		}
		o.Groups = append(o.Groups,
			load.Group{Users: users, Rest: 200 * time.Microsecond})
	}
	o.Batch = 5
	l := load.Start(s, s, o)
	for i := range 2 {
		check.Pass(t, l.Await(1000, 30*time.Second), "Await")
		if i == 0 && disturb != nil {
			disturb()
		}
	}
	l.Stop()
	return l.Check(s, 10*time.Second)
}

func TestGoodStore(t *testing.T) {
	r := run(t, memory.New(), load.Options{}, nil)
	check.Pass(t, r.Err(), "the report")
	if r.Acked < 4000 || r.Open > 0 || r.States < 100 {
		t.Errorf("%v, want 4000 acknowledged events at least and 100 states", r)
	}
}

// broken is a store whose answers go through functions that break them.
type broken struct {
	*memory.Store
	mu     sync.Mutex
	calls  int
	append func(b *broken, records []store.Record) ([]store.Result, error)
	erase  func(b *broken, user string) (uint64, error)
	since  func(b *broken, user string, known store.Version,
		fn func(store.Version, store.Event) error) (store.Version, bool, error)
}

// nth reports whether this is the n-th call, the 2n-th, and so on.
func (b *broken) nth(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	return b.calls%n == 0
}

func (b *broken) Append(ctx context.Context, records []store.Record) ([]store.Result, error) {
	if b.append != nil {
		return b.append(b, records)
	}
	return b.Store.Append(ctx, records)
}

func (b *broken) Erase(ctx context.Context, user string) (uint64, error) {
	if b.erase != nil {
		return b.erase(b, user)
	}
	return b.Store.Erase(ctx, user)
}

func (b *broken) Since(ctx context.Context, user string, known store.Version,
	fn func(store.Version, store.Event) error) (store.Version, bool, error) {
	if fn == nil {
		fn = func(store.Version, store.Event) error { return nil }
	}
	if b.since != nil {
		return b.since(b, user, known, fn)
	}
	return b.Store.Since(ctx, user, known, fn)
}

// forget takes the last events of all histories away, as a failover to a replica that lags.
func (b *broken) forget() {
	ctx := context.Background()
	_ = b.Each(ctx, 0, 1, func(user string, _ store.Version) error {
		_, err := b.Rewrite(ctx, []string{user}, func(h [][]store.Event) [][]store.Event {
			return [][]store.Event{h[0][:len(h[0])*3/4]}
		})
		return err
	})
}

// whole passes a whole history on through a function that changes it.
func whole(change func([]store.Event) []store.Event) func(*broken, string, store.Version,
	func(store.Version, store.Event) error) (store.Version, bool, error) {
	return func(b *broken, user string, known store.Version,
		fn func(store.Version, store.Event) error) (store.Version, bool, error) {
		ctx := context.Background()
		if known.Revision > 0 {
			return b.Store.Since(ctx, user, known, fn)
		}
		var events []store.Event
		var versions []store.Version
		head, same, err := b.Store.Since(ctx, user, known,
			func(v store.Version, e store.Event) error {
				events, versions = append(events, e), append(versions, v)
				return nil
			})
		for i, e := range change(events) {
			if err := fn(versions[min(i, len(versions)-1)], e); err != nil {
				return head, same, err
			}
		}
		return head, same, err
	}
}

// Each of these stores breaks a promise, which the check has to name.
func TestBrokenStores(t *testing.T) {
	ctx := context.Background()
	for _, test := range []struct {
		name   string
		broken *broken
		forget bool
		count  func(r *load.Report) int
	}{
		{"acknowledges without writing", &broken{append: func(b *broken, records []store.Record) (
			[]store.Result, error) {
			if b.nth(100) {
				return make([]store.Result, len(records)), nil
			}
			return b.Store.Append(ctx, records)
		}}, false, func(r *load.Report) int { return r.Lost }},
		{"loses the last events", &broken{}, true, func(r *load.Report) int { return r.Lost }},
		{"tells a wrong version", &broken{append: func(b *broken, records []store.Record) (
			[]store.Result, error) {
			results, err := b.Store.Append(ctx, records)
			results[0].Mark++
			return results, err
		}}, false, func(r *load.Report) int { return r.Broken[load.Moved] }},
		{"tells a wrong mark before", &broken{append: func(b *broken, records []store.Record) (
			[]store.Result, error) {
			results, err := b.Store.Append(ctx, records)
			results[0].Before++
			return results, err
		}}, false, func(r *load.Report) int { return r.Broken[load.Misfolded] }},
		{"calls good events conflicts", &broken{append: func(b *broken, records []store.Record) (
			[]store.Result, error) {
			if b.nth(100) {
				return nil, store.ErrConflict
			}
			return b.Store.Append(ctx, records)
		}}, false, func(r *load.Report) int { return r.Broken[load.Odd] }},
		{"does not erase", &broken{erase: func(*broken, string) (uint64, error) {
			return 0, nil
		}}, false, func(r *load.Report) int { return r.Broken[load.Returned] }},
		{"compares revisions alone", &broken{since: func(b *broken, user string,
			known store.Version, fn func(store.Version, store.Event) error) (store.Version, bool,
			error) {
			head, _, err := b.Store.Since(ctx, user, store.Version{}, nil)
			if err == nil && known.Revision > 0 && known.Revision <= head.Revision {
				known.Mark = head.Mark
			}
			return b.Store.Since(ctx, user, known, fn)
		}}, true, func(r *load.Report) int { return r.Untold }},
		{"draws no marks", &broken{since: func(b *broken, user string, known store.Version,
			fn func(store.Version, store.Event) error) (store.Version, bool, error) {
			return b.Store.Since(ctx, user, known, func(v store.Version, e store.Event) error {
				v.Mark = 1
				return fn(v, e)
			})
		}}, true, func(r *load.Report) int { return r.Broken[load.Ambiguous] }},
		{"shows an event twice", &broken{since: whole(func(e []store.Event) []store.Event {
			return append(e, e[:min(1, len(e))]...)
		})}, false, func(r *load.Report) int { return r.Broken[load.Doubled] }},
		{"shows events in another order", &broken{since: whole(
			func(e []store.Event) []store.Event {
				if len(e) > 30 {
					e[0], e[30] = e[30], e[0]
				}
				return e
			})}, false, func(r *load.Report) int { return r.Broken[load.Misordered] }},
		{"leaves an event out", &broken{since: func(b *broken, user string,
			known store.Version, fn func(store.Version, store.Event) error) (store.Version, bool,
			error) {
			return b.Store.Since(ctx, user, known, func(v store.Version, e store.Event) error {
				if v.Revision == 2 {
					return nil
				}
				return fn(v, e)
			})
		}}, false, func(r *load.Report) int { return r.Broken[load.Gaps] }},
		{"changes events", &broken{since: whole(func(e []store.Event) []store.Event {
			for i := range e {
				e[i].Value++
			}
			return e
		})}, false, func(r *load.Report) int { return r.Broken[load.Altered] }},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.broken.Store = memory.New()
			var disturb func()
			if test.forget {
				disturb = test.broken.forget
			}
			r := run(t, test.broken, load.Options{KeepUsers: test.forget}, disturb)
			if test.count(r) == 0 || r.Err() == nil {
				t.Errorf("%v, %v", r, r.Err())
			}
		})
	}
}

// A version with a mark tells every state that a loss has made one of another history, and a
// revision alone does not.
func TestLossIsTold(t *testing.T) {
	s := &broken{Store: memory.New()}
	r := run(t, s, load.Options{KeepUsers: true}, s.forget)
	if r.Foreign == 0 || r.Untold > 0 || r.ByRevision == 0 {
		t.Error(r)
	}
}
