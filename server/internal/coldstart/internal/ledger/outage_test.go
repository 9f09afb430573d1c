package ledger

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/servertest"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// away is a shared store that does not answer calls about topics that begin with a prefix.
type away struct {
	*memory.Store
	prefix string // empty: none
}

func (a *away) trouble(topic string) error {
	if a.prefix != "" && strings.HasPrefix(topic, a.prefix) {
		return store.ErrUnavailable
	}
	return nil
}

func (a *away) PutNote(
	ctx context.Context, topic, name string, value []byte, f store.Fence,
) error {
	if err := a.trouble(topic); err != nil {
		return err
	}
	return a.Store.PutNote(ctx, topic, name, value, f)
}

func (a *away) NoteNames(ctx context.Context, topic string) ([]string, error) {
	if err := a.trouble(topic); err != nil {
		return nil, err
	}
	return a.Store.NoteNames(ctx, topic)
}

// TestErasuresReachAllBasesAfterAnOutage: while the store does not say which models are extended,
// what was noticed waits, and then reaches the models of other servers too.
func TestErasuresReachAllBasesAfterAnOutage(t *testing.T) {
	st := &away{Store: memory.New()}
	other, x := newSharedRig(t, st, servertest.NewModel(t, 1)),
		newSharedRig(t, st, servertest.NewModel(t, 2))
	other.own(t)
	must(t, other.beat(t.Context()))
	x.take(t, "user-1", novelty)
	x.erase(t, "user-1")
	st.prefix = basesTopic
	if err := x.notices.postAll(t.Context()); err == nil {
		t.Fatal("the store is away, and there is no error")
	}
	x.erase(t, "user-2")
	st.prefix = ""
	must(t, x.notices.postAll(t.Context()))
	must(t, x.notices.postAll(t.Context()))
	var erased []string
	names := check.Get(st.NoteNames(t.Context(), noticesTopic(other.base)))(t)
	for _, name := range names {
		note, _, _ := st.Note(t.Context(), noticesTopic(other.base), name)
		n := check.Get(decodeNotice(note))(t)
		erased = append(erased, n.erased...)
	}
	check.Same(t, []string{"user-1", "user-2"}, erased, "erasures that the other model is told of")
}

// hold lets the keeper of an owner hold its lease until the test ends.
func (r *sharedRig) hold(t *testing.T) {
	t.Helper()
	k, name := r.keeper, leaseName(r.base)
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() { cancel(); running.Wait() })
	running.Go(func() { k.Run(ctx) })
	check.Await(t, "the keeper has the lease", func() bool {
		_, held := k.Held(name)
		return held
	})
}

// TestLongWorkShowsSigns: an owner shows that its base is in use also while it reads histories to
// place items, so that no other one takes the base for abandoned.
func TestLongWorkShowsSigns(t *testing.T) {
	st := memory.New()
	x := newSharedRig(t, st, servertest.NewModel(t, 1))
	l := x.own(t)
	x.hold(t)
	sign := func() string {
		note, _, err := st.Note(t.Context(), basesTopic, x.base)
		must(t, err)
		return string(note)
	}
	first := sign()
	x.owned.nextBeat = time.Time{} // it is time for another one
	must(t, x.Busy(t.Context(), l.Base()))
	if sign() == first {
		t.Error("no sign of the base while items were placed")
	}
}

// slow is a store that takes long to remove notices, which are more and more.
type slow struct{ *memory.Store }

func (slow) DeleteNotes(context.Context, string, []string, store.Fence) error {
	time.Sleep(5 * time.Second)
	return nil
}

// TestMergingLeavesTimeForWork: servers post faster than the owner can merge, and yet it has half
// of its time for the histories that it reads meanwhile.
func TestMergingLeavesTimeForWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSharedRig(t, slow{memory.New()}, servertest.NewModel(t, 1))
		l := x.own(t)
		x.hold(t)
		for u := range manyNotices {
			x.take(t, fmt.Sprint("user-", u), novelty)
			must(t, x.notices.postAll(t.Context()))
		}
		const histories, each = 2000, 10 * time.Millisecond
		began := time.Now()
		for range histories {
			time.Sleep(each)
			must(t, x.Busy(t.Context(), l.Base()))
		}
		if took := time.Since(began); x.owned.merges < 2 || took > 3*histories*each {
			t.Errorf("%v for %v of reading and %d merges", took, histories*each, x.owned.merges)
		}
	})
}

// TestLostOwnershipForgetsUsers: a server that is not the owner any more is not told of erasures,
// and keeps no users.
func TestLostOwnershipForgetsUsers(t *testing.T) {
	x := newSharedRig(t, memory.New(), servertest.NewModel(t, 1))
	x.own(t)
	x.owned.account.Samples.Note("user", novelty)
	if err := x.Done(store.ErrLeaseLost); err != nil || x.owned != nil {
		t.Errorf("%v, and what is left is %v", err, x.owned)
	}
}
