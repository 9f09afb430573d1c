package ledger

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/proctest"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/trend"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/metrics"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/tally"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/server/internal/servertest"
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

var must = check.Must

const novelty = "novelty" // an item that no model knows

// drawNotice makes up what a server could have noticed.
func drawNotice(rng *rand.Rand, users, items int) notice {
	t := notice{users: rng.Int64N(100) - 50, pairs: map[string][]string{},
		changed: map[string]struct{}{}, halved: rng.IntN(tally.MostHalved)}
	for u := range rng.IntN(users + 1) {
		t.changed[fmt.Sprint("changed-", u)] = struct{}{}
	}
	for u := range rng.IntN(users + 1) {
		t.erased = append(t.erased, fmt.Sprintf("erased-%03d", u))
	}
	for i := range rng.IntN(items + 1) {
		for u := range 1 + rng.IntN(users) {
			item := fmt.Sprint("item-", i)
			t.pairs[item] = append(t.pairs[item], fmt.Sprint("user-", u))
		}
	}
	return t
}

func TestNoticesAreRead(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		want := drawNotice(rng, 20, 5)
		note := want.encode()
		got, err := decodeNotice(note)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(notice{})); err != nil || diff != "" {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
		for cut := range note {
			if _, err := decodeNotice(note[:cut]); err == nil {
				t.Fatalf("%d of %d bytes are taken for a notice", cut, len(note))
			}
		}
	}
}

// TestLargeNoticesAreSplit: the parts are bounded, say all together, and count the users once.
func TestLargeNoticesAreSplit(t *testing.T) {
	long := strings.Repeat("x", 200)
	want := notice{users: 7, pairs: map[string][]string{}, changed: map[string]struct{}{}, halved: 3}
	for u := range 20_000 {
		want.erased = append(want.erased, fmt.Sprint("erased-", u, long))
		want.pairs[fmt.Sprint("item-", u%100)] = append(want.pairs[fmt.Sprint("item-", u%100)],
			fmt.Sprint("user-", u, long))
		want.changed[fmt.Sprint("changed-", u, long)] = struct{}{}
	}
	got := notice{pairs: map[string][]string{}, changed: map[string]struct{}{}, halved: 3}
	parts := want.split()
	for _, part := range parts {
		if size := len(part.encode()); size > noticeBytes+1000 {
			t.Errorf("a part of %d bytes", size)
		}
		if len(part.erased) > 0 && len(got.pairs) > 0 {
			t.Error("an erasure comes after pairs, which may be those of a user who has returned")
		}
		got.users += part.users
		got.erased = append(got.erased, part.erased...)
		for item, users := range part.pairs {
			got.pairs[item] = append(got.pairs[item], users...)
		}
		maps.Copy(got.changed, part.changed)
		check.Same(t, want.halved, part.halved, "halvings of the sample of a part")
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(notice{})); diff != "" || len(parts) < 8 {
		t.Errorf("%d parts (-want +got):\n%s", len(parts), diff)
	}
}

func FuzzNotes(f *testing.F) {
	rng := rand.New(rand.NewPCG(3, 4))
	one := drawNotice(rng, 3, 3)
	f.Add(one.encode())
	h := head{searched: true, users: 4, posters: map[string]posted{"a": {1, 2}, "b": {3, 4}}}
	f.Add(h.encode())
	k := kept{base: "b", extension: []byte("x"), trends: []byte("y"),
		users: map[string]float64{"i": 2}}
	f.Add(append(k.begin(), k.extension...))
	f.Fuzz(func(t *testing.T, note []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = decodeNotice(note)
		_, _ = decodeHead(note)
		_, _ = decodeKept(note)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(500*len(note)+1<<20) {
			t.Errorf("%d bytes allocated for a note of %d", took, len(note))
		}
	})
}

// sharedRig is the ledger of a server that shares its store, which does nothing by itself.
type sharedRig struct {
	*Shared
	models *models.Holder
	log    *proctest.Output
}

func newSharedRig(t *testing.T, st store.Shared, m *model.Model) *sharedRig {
	t.Helper()
	h := check.Get(models.Open(func() (*model.Model, error) { return m, nil }, time.Now,
		models.NewMetrics()))(t)
	t.Cleanup(h.Close)
	log, of := &proctest.Output{}, metrics.New()
	logger := slog.New(slog.NewJSONHandler(log, nil))
	n := NewNotices(NoticesDeps{Store: st, Every: time.Hour, Metrics: of, Log: logger,
		Bases: func() []string { return []string{m.Version()} },
		Guard: func(_ context.Context, _ string, work func() error) error { return work() }})
	return &sharedRig{NewShared(n, true, state.NewUpdater(nil),
		&Stage{Models: h, Metrics: of, Log: logger}), h, log}
}

// take lets a user take an item, as the extender of the server notices it.
func (r *sharedRig) take(t *testing.T, user, item string) {
	t.Helper()
	results := check.Get(r.store.Append(t.Context(), []store.Record{{User: user, Event: store.Event{
		ID: item, Item: item, Type: "like", Time: servertest.Now, Value: 1,
	}}}))(t)
	if results[0].Version.Revision == 1 {
		r.Arrived()
	}
	r.Note(user, item)
}

// erase erases a user, as the server does.
func (r *sharedRig) erase(t *testing.T, user string) {
	t.Helper()
	if _, err := r.store.Erase(t.Context(), user); err != nil {
		t.Error(err)
	}
	r.Forget(user)
}

// own makes the rig the owner of its base.
func (r *sharedRig) own(t *testing.T) *models.Lease {
	t.Helper()
	l := r.models.Acquire()
	t.Cleanup(l.Release)
	s := r.Shared
	s.Begin(l.Base(), false)
	term, held, err := s.store.Lease(t.Context(), leaseName(s.base), s.keeper.Holder(), time.Hour)
	if err != nil || !held {
		t.Fatalf("no lease: %v", err)
	}
	must(t, s.takeOver(t.Context(), l.Base(), term))
	return l
}

// posted posts what the rig has noticed, and returns the names of all notices.
func (r *sharedRig) posted(t *testing.T) []string {
	t.Helper()
	must(t, r.notices.postAll(t.Context()))
	return check.Get(r.store.NoteNames(t.Context(), noticesTopic(r.base)))(t)
}

// TestNoticesAreMergedOnce lets an owner end between the writing of what it has merged and the
// removal of the notices: the next owner counts nobody twice.
func TestNoticesAreMergedOnce(t *testing.T) {
	st, m := memory.New(), servertest.NewModel(t, 1)
	x := newSharedRig(t, st, m)
	l := x.own(t)
	for u := range 5 {
		x.take(t, fmt.Sprint("user-", u), novelty)
	}
	x.erase(t, "user-4")
	names := x.posted(t)
	topic := noticesTopic(x.base)
	kept := map[string][]byte{}
	for _, name := range names {
		kept[name], _, _ = st.Note(t.Context(), topic, name)
	}
	for round := range 3 {
		if round == 2 { // another owner
			x.owned = nil
			must(t, x.takeOver(t.Context(), l.Base(), 1))
		}
		must(t, x.merge(t.Context(), l.Base(), names))
		now := x.owned.account.Samples.Census()
		check.Same(t, int64(4), now.Users, "round %d: users", round)
		check.Same(t, 4.0, now.Counts[novelty], "round %d: users with the item", round)
		for name, note := range kept { // as if they had not been removed
			must(t, st.PutNote(t.Context(), topic, name, note, store.Fence{}))
		}
	}
}

// TestLateNoticesOfErasedUsers merges what another server has noticed of a user before the user was
// erased, after the erasure was merged: the user stays out of the samples.
func TestLateNoticesOfErasedUsers(t *testing.T) {
	st, m := memory.New(), servertest.NewModel(t, 1)
	x, late := newSharedRig(t, st, m), newSharedRig(t, st, m)
	l := x.own(t)
	late.base = x.base
	for u := range 3 {
		late.take(t, fmt.Sprint("user-", u), novelty)
	}
	x.erase(t, "user-1")
	must(t, x.merge(t.Context(), l.Base(), x.posted(t)))
	must(t, x.merge(t.Context(), l.Base(), late.posted(t)))
	sample := slices.Sorted(slices.Values(x.owned.account.Samples.SampleOf(novelty)))
	check.Same(t, []string{"user-0", "user-2"}, sample, "the sample")
}

// TestOwnersAreToldWhoChanged: the owner counts anew whom others have served or erased. The id of an
// erased user is not posted after the erasure, but as such.
func TestOwnersAreToldWhoChanged(t *testing.T) {
	st := memory.New()
	m := servertest.BuildModel(t, 1, servertest.Item, func(s *model.Spec) {
		s.Trend = trend.Spec{HalfLife: 30, Span: 60, Gain: 0.5}
	})
	x, other := newSharedRig(t, st, m), newSharedRig(t, st, m)
	l := x.own(t)
	other.base = x.base
	for round := range 2 {
		for _, user := range []string{"ann", "bob"} {
			other.take(t, user, servertest.Item(1))
			other.Changed(user, nil)
		}
		other.erase(t, "ann")
		if round == 1 { // it ends before it is time to tell of changes
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			other.notices.Run(ctx)
		}
		names := other.posted(t)
		for _, name := range names {
			note, _, err := st.Note(t.Context(), noticesTopic(x.base), name)
			must(t, err)
			told, err := decodeNotice(note)
			must(t, err)
			if _, posted := told.changed["ann"]; posted {
				t.Errorf("round %d: an erased user is among the changed ones", round)
			}
		}
		must(t, x.merge(t.Context(), l.Base(), names))
		users, _ := x.owned.account.Tally.Pending.TakeAll()
		check.Same(t, map[string]struct{}{"ann": {}, "bob": {}}, users, "round %d: the owner reads",
			round)
	}
}

// TestBadTrendsAreRefused: damaged trends, or those of another model, leave what serves.
func TestBadTrendsAreRefused(t *testing.T) {
	x := newSharedRig(t, memory.New(), servertest.NewModel(t, 1))
	l := x.own(t)
	must(t, x.put(t.Context(), trendsTopic(x.base), documentName(x.base, 1, 1), []byte("damaged")))
	for look := range 2 {
		if err := x.follow(t.Context(), l); (err == nil) != (look > 0) {
			t.Errorf("look %d: %v, want to be told once", look, err)
		}
	}
	if now := x.models.Acquire(); now.Version() != l.Version() {
		t.Errorf("%s serves, want %s", now.Version(), l.Version())
	}
}

// TestOwnersRenewTrends: an owner renews the trends of the one before, with however few events.
func TestOwnersRenewTrends(t *testing.T) {
	x := newSharedRig(t, memory.New(), servertest.NewModel(t, 1))
	l := x.own(t)
	if x.owned.account.Tally.Due() {
		t.Error("trends are due without an event, and without any before")
	}
	n := l.NumItems()
	must(t, x.PublishTrends(t.Context(), l,
		&trend.Snapshot{G: make([]float32, n), Now: make([]int64, n)}))
	must(t, x.takeOver(t.Context(), l.Base(), x.owned.term))
	if !x.owned.account.Tally.Due() {
		t.Error("the trends of the owner before stay")
	}
}

// TestAbandonedBases: what belongs to a model that no server has is removed, and nothing else.
func TestAbandonedBases(t *testing.T) {
	st := memory.New()
	old, x := newSharedRig(t, st, servertest.NewModel(t, 1)),
		newSharedRig(t, st, servertest.NewModel(t, 2))
	l := old.own(t)
	for u := range 3 {
		old.take(t, fmt.Sprint("user-", u), novelty)
	}
	must(t, old.beat(t.Context()))
	must(t, old.merge(t.Context(), l.Base(), old.posted(t)))
	x.own(t)
	check.Same(t, 3.0, x.owned.account.Samples.Census().Counts[novelty],
		"users in the samples of the model before")
	looks := func() (notes int) {
		x.owned.nextBeat = time.Time{}
		must(t, x.beat(t.Context()))
		base := old.base
		for _, topic := range []string{noticesTopic(base), samplesTopic(base),
			documentsTopic(base), trendsTopic(base)} {
			names := check.Get(st.NoteNames(t.Context(), topic))(t)
			notes += len(names)
		}
		return notes
	}
	for range 2 {
		if looks() == 0 {
			t.Fatal("the notes of a base were removed at once")
		}
	}
	last := x.owned.others[old.base]
	last.seen = last.seen.Add(-2 * abandoned)
	x.owned.others[old.base] = last
	check.Same(t, 0, looks(), "notes of an abandoned base are left")
	names, err := st.NoteNames(t.Context(), basesTopic)
	if diff := cmp.Diff([]string{x.base}, names); err != nil || diff != "" {
		t.Errorf("%v, bases (-want +got):\n%s", err, diff)
	}
}

// erasureRig is the owner of a base with three users in the sample of an item, and a server with
// another model.
func erasureRig(t *testing.T) (old, x *sharedRig, st store.Shared) {
	t.Helper()
	st = memory.New()
	old, x = newSharedRig(t, st, servertest.NewModel(t, 1)),
		newSharedRig(t, st, servertest.NewModel(t, 2))
	l := old.own(t)
	for u := range 3 {
		old.take(t, fmt.Sprint("user-", u), novelty)
	}
	must(t, old.merge(t.Context(), l.Base(), old.posted(t)))
	return old, x, st
}

// TestInheritedSamplesLackErasedUsers: the first owner of a new model takes over the samples of the
// one before, but for a user whose erasure nobody has merged there.
func TestInheritedSamplesLackErasedUsers(t *testing.T) {
	old, x, _ := erasureRig(t)
	old.erase(t, "user-1")
	old.posted(t)
	x.own(t)
	sample := slices.Sorted(slices.Values(x.owned.account.Samples.SampleOf(novelty)))
	check.Same(t, []string{"user-0", "user-2"}, sample, "the sample")
}

// TestErasuresReachNewBases: an erasure that is on its way when another model begins, and takes
// over the samples of the one before, reaches that model too.
func TestErasuresReachNewBases(t *testing.T) {
	old, x, st := erasureRig(t)
	old.erase(t, "user-1")
	old.notices.wait(old.notices.take(), []string{old.base})
	l := x.own(t)
	must(t, old.notices.postAll(t.Context()))
	names := check.Get(st.NoteNames(t.Context(), noticesTopic(x.base)))(t)
	must(t, x.merge(t.Context(), l.Base(), names))
	sample := slices.Sorted(slices.Values(x.owned.account.Samples.SampleOf(novelty)))
	check.Same(t, []string{"user-0", "user-2"}, sample, "the sample")
}
