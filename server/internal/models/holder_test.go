package models

import (
	"errors"
	"testing"
	"time"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/servertest"
)

// A scrape or a reload that comes after the end finds no model, and does not hang.
func TestHolderAfterClose(t *testing.T) {
	open := func() (*model.Model, error) { return servertest.NewModel(t, 1), nil }
	h, err := Open(open, time.Now, NewMetrics())
	if err != nil {
		t.Fatal(err)
	}
	h.Close()
	if l := h.Acquire(); l != nil {
		t.Errorf("a lease after Close: %v", l)
	}
	if _, _, err := h.Reload(); !errors.Is(err, ErrClosed) {
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
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	first := h.Acquire()
	defer first.Release()
	extended := servertest.NewModel(t, 3) // stands for an extension
	if !h.Extend(first, extended) || !h.Serves(first) {
		t.Fatal("the extension of the serving model does not serve")
	}
	l := h.Acquire()
	if l.Model != extended || l.Root() != first || !l.Loaded().Equal(first.Loaded()) {
		t.Errorf("the lease is of model %p, root %p, want %p, %p", l.Model, l.Root(), extended,
			first)
	}
	l.Release()
	fresh, previous, err := h.Reload()
	if err != nil || previous != extended.Base().Version() {
		t.Fatalf("reload: previous %q, %v", previous, err)
	}
	defer fresh.Release()
	if h.Serves(first) || h.Extend(first, extended) {
		t.Error("an extension of a model that does not serve any more took its place")
	}
}
