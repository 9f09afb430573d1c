package coldstart

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/ledger"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/samples"
	"github.com/gsimc/gsimc/server/internal/servertest"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// started is an extender of a server that has started over a store, with the file of one before.
// served is the version that serves before it searches its store.
func started(t *testing.T, st *servertest.Store, seed uint64, file string) (x *rig, served string) {
	t.Helper()
	return startedBy(t, st, seed, file, nil)
}

// startedBy is started with weights of events.
func startedBy(
	t *testing.T, st *servertest.Store, seed uint64, file string, weights map[string]float64,
) (x *rig, served string) {
	t.Helper()
	x = newRig(t, st, trendingModel(t, seed))
	x.File = file
	x.Extender = New(time.Hour, x.Deps)
	x.Updater.SetWeights(weights)
	x.Restore(t.Context())
	served, _ = x.serving(novelty)
	for range 3 { // searches, places what was found, and counts it
		must(t, x.look(t.Context(), true))
	}
	return x, served
}

// newKept is a store in which a new item and trends have been found, and a file that has them. The
// model that serves then has a version, which begins with base without them.
func newKept(t *testing.T) (st *servertest.Store, file, base, version string) {
	t.Helper()
	st = &servertest.Store{Store: memory.New()}
	file = filepath.Join(t.TempDir(), "extension.main")
	x, base := started(t, st, 1, file)
	for u := range model.MinNewUsers + 20 {
		x.take(t, fmt.Sprint("user-", u), novelty)
		x.take(t, fmt.Sprint("user-", u), servertest.Item(u))
	}
	for range 2 {
		must(t, x.look(t.Context(), true))
	}
	version, known := x.serving(novelty)
	if !known || !strings.Contains(version, "~") {
		t.Fatalf("model %s serves, want one with a new item and trends", version)
	}
	x.end(t.Context())
	return st, file, base, version
}

// What served before a restart serves again before the store has been searched, new items and
// trends. What is gone by then is gone after the search.
func TestStartServesWhatWasKept(t *testing.T) {
	st, file, _, version := newKept(t)
	unfinished := filepath.Join(filepath.Dir(file), ".extension.main.7.tmp")
	must(t, os.WriteFile(unfinished, nil, 0o600)) // by a process that was killed
	x, served := started(t, st, 1, file)
	if _, err := os.Stat(unfinished); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that was not finished stays: %v", err)
	}
	if after, _ := x.serving(novelty); served != version || after != version {
		t.Errorf("after a restart %s serves and then %s, want %s", served, after, version)
	}
	extended := func(x *rig) int {
		return strings.Count(x.log.String(), "model extended by new items")
	}
	if made := extended(x); made != 1 {
		t.Errorf("the model was extended %d times, want by the file alone", made)
	}
	x, _ = startedBy(t, st, 1, file, map[string]float64{"like": 0.5})
	if made := extended(x); made < 2 {
		t.Error("by other weights of events the rows of the process before stay")
	}
	for u := range model.MinNewUsers + 20 {
		check.Get(st.Erase(t.Context(), fmt.Sprint("user-", u)))(t)
	}
	x, served = started(t, st, 1, file)
	if _, known := x.serving(novelty); served != version || known {
		t.Errorf("%s serves, want %s; an item that nobody has any more is known: %t", served,
			version, known)
	}
	if _, added := x.trends(t, servertest.Item(3)); added != 0 {
		t.Errorf("the trends of users who have gone add %v", added)
	}
	other := trendingModel(t, 2).Version()
	if _, served = started(t, st, 2, file); served != other {
		t.Errorf("by the file of another model %s serves, want %s", served, other)
	}
}

// An item whose row came from its neighbours in content too is not placed again after a restart.
func TestKeptRowsOfItemsThatAreAlikeStay(t *testing.T) { keptRowStays(t, 6) }

// Nor are rows placed again whose items have more users than are sampled, though those of the other
// items are read too.
func TestKeptRowsOfManyUsersStay(t *testing.T) { keptRowStays(t, samples.Size+100) }

// keptRowStays gives this number of users a new item, and every third of them a second new item,
// and lets a server end and start.
func keptRowStays(t *testing.T, users int) {
	st := memory.New()
	file := filepath.Join(t.TempDir(), "extension.main")
	start := func() *rig {
		x, _ := newShop(t, st)
		x.File = file
		x.Extender = New(time.Hour, x.Deps)
		x.Restore(t.Context())
		return x
	}
	looks := func(x *rig) (a *ledger.Account) {
		for range 3 { // searches, places what was found, and counts it
			x.extended(t, novelty)
		}
		_, a = x.account(t)
		return a
	}
	x := start()
	for u := range 60 {
		x.take(t, fmt.Sprint("user-", u), servertest.Item(u%servertest.Items))
	}
	for u := range users {
		x.take(t, fmt.Sprint("user-", u), novelty)
		if u%3 == 0 {
			x.take(t, fmt.Sprint("user-", u), "second")
		}
	}
	if row := looks(x).Rows[novelty]; row.Other || len(row.Near) == 0 {
		t.Fatalf("the row is %+v, want one by neighbours", row)
	}
	x.end(t.Context())
	if row, has := looks(start()).Rows[novelty]; !row.Other || !has {
		t.Error("after a restart the item is placed again")
	}
}

// Who is erased behind the back of the file, as before a server is killed, leaves no trace in the
// rows after the next start, though one user of many makes little difference to them.
func TestKeptRowsForgetTheErased(t *testing.T) {
	st, file, _, _ := newKept(t)
	check.Get(st.Erase(t.Context(), "user-3"))(t)
	x, _ := started(t, st, 1, file)
	got, _ := x.serving(novelty)
	x, _ = started(t, st, 1, filepath.Join(t.TempDir(), "none"))
	if want, _ := x.serving(novelty); got != want {
		t.Errorf("%s serves, want %s as without the file", got, want)
	}
}

// Rows that a server has made by other weights of events, and not yet again when it ends, are made
// again after the start.
func TestKeptRowsHaveTheirWeights(t *testing.T) {
	st, file, _, _ := newKept(t)
	x, _ := started(t, st, 1, file)
	for u := range 10 {
		x.take(t, fmt.Sprint("later-", u), novelty)
	}
	must(t, x.look(t.Context(), true)) // places the item by the weights of before
	other := map[string]float64{"like": 0.5}
	x.Updater.SetWeights(other)
	x.Reweighed()
	st.SinceFunc = func(
		context.Context, string, store.Version, func(store.Version, store.Event) error,
	) (store.Version, bool, error) {
		return store.Version{}, false, context.Canceled
	}
	if err := x.look(t.Context(), true); !errors.Is(err, context.Canceled) {
		t.Fatalf("the look ends with %v", err)
	}
	x.end(t.Context())
	st.SinceFunc = nil
	x, _ = startedBy(t, st, 1, file, other)
	if _, a := x.account(t); a.Rows[novelty].Other {
		t.Error("by other weights of events the row of the process before stays")
	}
}

// A server that ends in the middle of a look, when it has dropped rows to make them anew, keeps the
// rows that serve.
func TestEndWithinALookKeepsWhatServes(t *testing.T) {
	st, file, _, _ := newKept(t)
	x, _ := started(t, st, 1, file)
	for u := range 10 {
		x.take(t, fmt.Sprint("later-", u), novelty)
	}
	must(t, x.look(t.Context(), true)) // places the item anew
	for u := range 10 {
		x.take(t, fmt.Sprint("last-", u), novelty)
	}
	reads := 0
	st.SinceFunc = func(
		ctx context.Context, user string, known store.Version,
		fn func(store.Version, store.Event) error,
	) (store.Version, bool, error) {
		if reads++; reads > 15 { // while the item is placed again
			return store.Version{}, false, context.Canceled
		}
		return st.Store.Since(ctx, user, known, fn)
	}
	if err := x.look(t.Context(), true); !errors.Is(err, context.Canceled) {
		t.Fatalf("the look ends with %v", err)
	}
	version, _ := x.serving(novelty)
	x.end(t.Context())
	st.SinceFunc = nil
	must(t, st.Store.Each(t.Context(), 0, 1, func(user string, _ store.Version) error {
		_, err := st.Erase(t.Context(), user)
		return err
	}))
	x, served := started(t, st, 1, file)
	if _, known := x.serving(novelty); served != version || known {
		t.Errorf("%s serves, want %s; an item that nobody has any more is known: %t", served,
			version, known)
	}
}

// A damaged file costs no more than the search, which finds everything.
func TestDamagedFileIsNotUsed(t *testing.T) {
	st, file, base, version := newKept(t)
	whole := check.Get(os.ReadFile(file))(t)
	told := 0
	for at := 0; at < len(whole); at += 1 + len(whole)/40 {
		damaged := slices.Clone(whole)
		damaged[at] ^= 0x10
		for _, left := range [][]byte{damaged, whole[:at]} {
			must(t, os.WriteFile(file, left, 0o600))
			x, served := started(t, st, 1, file)
			if after, _ := x.serving(novelty); after != version {
				t.Errorf("byte %d of %d: %s serves after the search, want %s", at, len(whole),
					after, version)
			}
			if strings.Contains(x.log.String(), "cannot be used") {
				told++
			} else if served != version && served != base {
				t.Errorf("byte %d of %d: %s serves, and nothing is told", at, len(whole), served)
			}
		}
	}
	if told < 60 {
		t.Errorf("damage was told %d times", told)
	}
}
