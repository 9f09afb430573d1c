// Package models keeps the serving model: requests lease it, a reload replaces it, an extension
// adds items to it.
//
// A model is closed when its last lease is returned. So a request uses one model from its beginning
// to its end, also when a reload replaces it meanwhile.
package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/catalogue"
)

// ErrClosed is returned by [Holder.Reload] once the holder is closed.
var ErrClosed = errors.New("server: the model has been given back")

// A RefusedError is a model file that could not be loaded; the old model goes on serving. Its text
// is for the operator.
type RefusedError struct{ Err error }

// Error names the problem with the file and the model that serves.
func (e *RefusedError) Error() string {
	return "model refused, the old one goes on serving: " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Err }

// A Holder holds the serving model. It is safe for concurrent use.
type Holder struct {
	// OnReload, if not nil, is told the outcome of each reload once, however many callers wait for
	// it. It is set before the first reload, and holds up the next one.
	OnReload func(Reloaded)

	open    func() (*model.Model, error)
	now     func() time.Time
	metrics *Metrics
	items   *catalogue.Catalogue // nil: none

	current atomic.Pointer[Lease] // nil after Close
	replace sync.Mutex            // one replacement of current at a time

	// One opening at a time: at most two models are open, besides those still leased. mu guards it.
	mu      sync.Mutex
	running *reload // nil: none
	waiting *reload // the one after it; nil: nobody waits
}

// Reloaded is the outcome of a reload: the versions of the files that serve and served before, or
// an error.
type Reloaded struct {
	Version, Previous string
	Took              time.Duration
	Err               error
}

// reload is one opening of the model, shared by the calls that wait for it.
type reload struct {
	done     chan struct{} // closed when the fields below are set
	previous string
	err      error
}

// A Lease keeps a model open: one that was loaded from a file, or an extension of one. Its
// references are those of the holder while the model serves, of the requests that acquired it, and,
// for a loaded model, of its extensions.
type Lease struct {
	*model.Model
	// Items says which items may be shown, in the rows of the model; nil if the holder has no
	// catalogue.
	Items *catalogue.View

	loaded time.Time
	refs   atomic.Int64
	of     *Lease // the loaded model that this one extends; nil for a loaded model

	rules    rules
	measured sync.Once
	unit     float64 // of boosts, once measured, see spread; of a loaded model
}

// newLease returns a lease with one reference.
func newLease(m *model.Model, loaded time.Time) *Lease {
	l := &Lease{Model: m, loaded: loaded, rules: rules{turn: make(chan struct{}, 1)}}
	l.refs.Store(1)
	return l
}

// Root returns the lease of the loaded model: l, or the one that l extends.
func (l *Lease) Root() *Lease {
	return cmp.Or(l.of, l)
}

// Loaded returns the time at which the model was loaded from its file.
func (l *Lease) Loaded() time.Time { return l.loaded }

// Release gives the lease back. The model must not be used afterwards.
func (l *Lease) Release() {
	if l.refs.Add(-1) != 0 {
		return
	}
	if l.Items != nil {
		l.Items.Close()
	}
	if l.of != nil { // an extension has no file of its own
		l.of.Release()
		return
	}
	// Closing unmaps a file that was only read: an error loses nothing, and there is no caller to
	// return it to.
	_ = l.Model.Close()
}

// Open opens the first model. It calls open again at each reload; every call must return a model of
// its own, which the holder closes. The clock now stamps loads.
func Open(open func() (*model.Model, error), now func() time.Time, m *Metrics) (*Holder, error) {
	first, err := open()
	if err != nil {
		return nil, err
	}
	h := &Holder{open: open, now: now, metrics: m}
	h.install(first)
	m.loaded(true)
	return h, nil
}

// UseCatalogue gives every lease from now on a view of the items, and the serving one too. It is
// called before the first Acquire.
func (h *Holder) UseCatalogue(items *catalogue.Catalogue) {
	h.items = items
	l := h.current.Load()
	l.Items = h.view(l.Model)
}

// view makes the view of the catalogue for a model, before the model serves.
func (h *Holder) view(m *model.Model) *catalogue.View {
	if h.items == nil {
		return nil
	}
	return h.items.View(m.NumItems(), m.ItemIndex)
}

// install makes m the serving model. It returns the lease of the one before, if any, which is still
// to be released.
func (h *Holder) install(m *model.Model) *Lease {
	l := newLease(m, h.now())
	l.Items = h.view(m)
	return h.current.Swap(l)
}

// Acquire returns the serving model; the caller must release it. It returns nil after Close, when
// no handler runs any more.
func (h *Holder) Acquire() *Lease {
	for {
		l := h.current.Load()
		if l == nil {
			return nil
		}
		// A lease whose count has reached 0 is being closed and must not be revived: the pointer
		// has moved on.
		for n := l.refs.Load(); n > 0; n = l.refs.Load() {
			if l.refs.CompareAndSwap(n, n+1) {
				return l
			}
		}
	}
}

// version returns that of the file that serves; empty after Close.
func (h *Holder) version() string {
	l := h.Acquire()
	if l == nil {
		return ""
	}
	defer l.Release()
	return l.Base().Version()
}

// Serves reports whether the loaded model of l still serves, extended or not.
func (h *Holder) Serves(l *Lease) bool {
	current := h.current.Load()
	return current != nil && current.Root() == l.Root()
}

// Extend lets an extension of l's loaded model serve in its place. It returns false, and changes
// nothing, if another model has been loaded meanwhile. The caller holds l.
func (h *Holder) Extend(l *Lease, extended *model.Model) bool {
	h.replace.Lock()
	defer h.replace.Unlock()
	if !h.Serves(l) {
		return false
	}
	root := l.Root()
	root.refs.Add(1) // it is above 0, as l holds it
	next := newLease(extended, root.loaded)
	next.of = root
	if now := h.current.Load(); h.items != nil && now.StateVersion() == extended.StateVersion() {
		next.Items = now.Items.Shared() // trends change no rows
	} else {
		next.Items = h.view(extended)
	}
	before := h.current.Swap(next)
	before.rules.end() // it may stay as the root of next
	before.Release()
	return true
}

// Replace lets m serve in the place of l's loaded model, as a reload does. It returns false, and
// changes nothing, if another model has been loaded meanwhile. The caller holds l.
func (h *Holder) Replace(l *Lease, m *model.Model) bool {
	h.replace.Lock()
	defer h.replace.Unlock()
	if !h.Serves(l) {
		return false
	}
	h.install(m).Release()
	return true
}

// Reload opens the model anew and lets it serve, unless it is the one that serves already. It
// returns what serves now, which the caller must release, and the version of the file that served
// before. On an error, a [RefusedError] or [ErrClosed], the old model goes on serving.
//
// Calls that come while a model is being opened wait for one further opening together: the file may
// have been replaced after the running one had begun. The end of ctx ends the waiting and not the
// opening.
func (h *Holder) Reload(ctx context.Context) (fresh *Lease, previous string, err error) {
	r := h.join()
	select {
	case <-r.done:
	case <-ctx.Done():
		return nil, "", ctx.Err()
	}
	if r.err != nil {
		return nil, "", r.err
	}
	if fresh = h.Acquire(); fresh == nil {
		return nil, "", ErrClosed
	}
	return fresh, r.previous, nil
}

// join returns a reload that has not begun before the call.
func (h *Holder) join() *reload {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running == nil {
		h.running = &reload{done: make(chan struct{})}
		go h.work(h.running)
		return h.running
	}
	if h.waiting == nil {
		h.waiting = &reload{done: make(chan struct{})}
	}
	return h.waiting
}

// work carries out r and the reloads that come meanwhile.
func (h *Holder) work(r *reload) {
	for r != nil {
		began := time.Now()
		r.previous, r.err = h.reload()
		if h.OnReload != nil {
			h.OnReload(Reloaded{h.version(), r.previous, time.Since(began), r.err})
		}
		close(r.done)
		h.mu.Lock()
		r, h.waiting = h.waiting, nil
		h.running = r
		h.mu.Unlock()
	}
}

// reload opens the model and lets it serve. No caller stands above it who could recover a panic.
func (h *Holder) reload() (previous string, err error) {
	if h.current.Load() == nil {
		return "", ErrClosed
	}
	defer func() {
		if p := recover(); p != nil {
			h.metrics.loaded(false)
			err = &RefusedError{fmt.Errorf("panic while the model was loaded: %v", p)}
		}
	}()
	m, err := h.open()
	if err != nil {
		h.metrics.loaded(false)
		return "", &RefusedError{err}
	}
	h.replace.Lock()
	defer h.replace.Unlock()
	now := h.current.Load()
	if now == nil {
		return "", errors.Join(ErrClosed, m.Close())
	}
	if version := now.Base().Version(); m.Version() == version { // new items and trends stay
		h.metrics.loaded(true)
		return version, m.Close()
	}
	old := h.install(m)
	h.metrics.loaded(true)
	defer old.Release()
	return old.Base().Version(), nil
}

// Close gives the serving model back. It does not wait for a reload, whose model is closed when it
// has been opened. A request that begins afterwards finds no model.
func (h *Holder) Close() {
	h.replace.Lock()
	defer h.replace.Unlock()
	if l := h.current.Swap(nil); l != nil {
		l.Release()
	}
}
