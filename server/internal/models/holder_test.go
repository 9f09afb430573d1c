package models

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/trend"
	"github.com/gsimc/gsimc/server/internal/catalogue"
	"github.com/gsimc/gsimc/server/internal/servertest"
	"github.com/gsimc/gsimc/store/memory"
)

var must = check.Must

// A scrape or a reload that comes after the end finds no model, and does not hang.
func TestHolderAfterClose(t *testing.T) {
	open := func() (*model.Model, error) { return servertest.NewModel(t, 1), nil }
	h := check.Get(Open(open, time.Now, NewMetrics()))(t)
	h.Close()
	if l := h.Acquire(); l != nil {
		t.Errorf("a lease after Close: %v", l)
	}
	if _, _, err := h.Reload(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("reload after Close: %v, want %v", err, ErrClosed)
	}
	h.Close()
}

// An extension takes the place of the model that it extends, and of no other.
func TestExtend(t *testing.T) {
	seed := uint64(0)
	h, err := Open(func() (*model.Model, error) {
		seed++
		return servertest.NewModel(t, seed),
			nil
	}, time.Now, NewMetrics())
	must(t, err)
	defer h.Close()
	items, err := catalogue.Open(t.Context(), memory.New(), time.Now(), catalogue.Bounds{})
	must(t, err)
	h.UseCatalogue(items)
	first := h.Acquire()
	defer first.Release()
	trends := &trend.Snapshot{G: make([]float32, first.NumItems())}
	if !h.Extend(first, first.WithTrends(trends)) {
		t.Fatal("the serving model with trends does not serve")
	}
	with := h.Acquire()
	if with.Release(); with.Items != first.Items {
		t.Error("trends have made another view of the catalogue")
	}
	extended := servertest.NewModel(t, 3) // stands for an extension
	if !h.Extend(first, extended) || !h.Serves(first) {
		t.Fatal("the extension of the serving model does not serve")
	}
	l := h.Acquire()
	if l.Model != extended || l.Root() != first || !l.Loaded().Equal(first.Loaded()) {
		t.Errorf("the lease is of model %p, root %p, want %p, %p", l.Model, l.Root(), extended,
			first)
	}
	if l.Release(); l.Items == first.Items {
		t.Error("an extension has the rows of the model before")
	}
	fresh, previous, err := h.Reload(t.Context())
	if err != nil || previous != extended.Base().Version() {
		t.Fatalf("reload: previous %q, %v", previous, err)
	}
	defer fresh.Release()
	if h.Serves(first) || h.Extend(first, extended) {
		t.Error("an extension of a model that does not serve any more took its place")
	}
}

// A reload of the file that serves leaves what serves as it is, with its new items and trends.
func TestReloadOfTheSame(t *testing.T) {
	open := func() (*model.Model, error) { return servertest.NewModel(t, 1), nil }
	h := check.Get(Open(open, time.Now, NewMetrics()))(t)
	defer h.Close()
	first := h.Acquire()
	defer first.Release()
	with := first.WithTrends(&trend.Snapshot{G: make([]float32, first.NumItems())})
	if !h.Extend(first, with) {
		t.Fatal("the serving model with trends does not serve")
	}
	l, previous, err := h.Reload(t.Context())
	must(t, err)
	defer l.Release()
	if l.Model != with || previous != first.Version() {
		t.Errorf("after a reload %p serves, before it %q, want %p and %q", l.Model, previous, with,
			first.Version())
	}
}

// Reloads that come while a model is being opened share one further opening; one whose caller has
// left goes on; Close does not wait for an opening that hangs.
func TestReloadsAreShared(t *testing.T) {
	var opened atomic.Uint64
	begun, proceed := make(chan struct{}, 8), make(chan struct{})
	h, err := Open(func() (*model.Model, error) {
		if n := opened.Add(1); n > 1 {
			begun <- struct{}{}
			<-proceed
		}
		return servertest.NewModel(t, opened.Load()), nil
	}, time.Now, NewMetrics())
	must(t, err)
	gone, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, _, err := h.Reload(gone)
		left <- err
	}()
	<-begun
	leave()
	check.Fails(t, <-left, context.Canceled, "a reload whose caller has left")
	joined := h.join() // as each caller below does
	for range 500 {
		if h.join() != joined {
			t.Fatal("reloads that come while a model is being opened do not share the next opening")
		}
	}
	close(proceed)
	<-joined.done
	if n := opened.Load(); n != 3 { // the first, the running one and the shared one
		t.Errorf("%d openings, want 3", n)
	}
	h.Close()
}

// Close ends while a model is being opened, and that model is closed too.
func TestCloseDuringReload(t *testing.T) {
	begun, proceed := make(chan struct{}), make(chan struct{})
	first := true
	h, err := Open(func() (*model.Model, error) {
		if !first {
			close(begun)
			<-proceed
		}
		first = false
		return servertest.NewModel(t, 1), nil
	}, time.Now, NewMetrics())
	must(t, err)
	outcome := make(chan error, 1)
	go func() {
		_, _, err := h.Reload(t.Context())
		outcome <- err
	}()
	<-begun
	h.Close() // hangs if it waits
	close(proceed)
	check.Fails(t, <-outcome, ErrClosed, "reload during Close")
}
