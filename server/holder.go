package server

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/gsimc/gsimc/model"
)

// holder holds the serving model. Requests lease it; a reload puts another one in its place, and the old one is closed
// when its last lease is returned. It is safe for concurrent use.
type holder struct {
	open    func() (*model.Model, error)
	now     func() time.Time
	metrics *Metrics

	current atomic.Pointer[lease] // nil after close
	reload  sync.Mutex            // one reload at a time, so there are at most two models plus those still leased
}

// lease is a loaded model, or an extension of one, and the number of its users: the holder itself, while the model serves, the
// requests, and for a loaded model its extensions.
type lease struct {
	*model.Model
	loaded time.Time
	refs   atomic.Int64
	of     *lease // what is extended; nil for a loaded model
}

// root is the lease of the loaded model.
func (l *lease) root() *lease {
	if l.of != nil {
		return l.of
	}
	return l
}

func newHolder(open func() (*model.Model, error), now func() time.Time, metrics *Metrics) (*holder, error) {
	m, err := open()
	if err != nil {
		return nil, err
	}
	h := &holder{open: open, now: now, metrics: metrics}
	h.install(m)
	return h, nil
}

// install makes m the serving model and returns the one before, if any, still to be released.
func (h *holder) install(m *model.Model) *lease {
	l := &lease{Model: m, loaded: h.now()}
	l.refs.Store(1)
	h.metrics.modelLoads.success.Inc()
	return h.current.Swap(l)
}

// acquire returns the serving model; the caller must release it. It returns nil after close, when no handler runs any more.
func (h *holder) acquire() *lease {
	for {
		l := h.current.Load()
		if l == nil {
			return nil
		}
		// A lease whose count has reached 0 is being closed and must not be revived: the pointer has moved on.
		for n := l.refs.Load(); n > 0; n = l.refs.Load() {
			if l.refs.CompareAndSwap(n, n+1) {
				return l
			}
		}
	}
}

func (l *lease) release() {
	if l.refs.Add(-1) != 0 {
		return
	}
	if l.of != nil { // an extension has no file of its own
		l.of.release()
	} else {
		// Closing unmaps a file that was only read; there is nothing to lose and nobody left to tell.
		_ = l.Model.Close()
	}
}

// extend lets an extension of l's loaded model serve in its place. It returns false, and changes nothing, if another model has
// been loaded meanwhile. The caller holds l.
func (h *holder) extend(l *lease, extended *model.Model) bool {
	h.reload.Lock()
	defer h.reload.Unlock()
	current := h.current.Load()
	if current == nil || current.root() != l.root() {
		return false
	}
	root := l.root()
	root.refs.Add(1) // it is above 0, as l holds it
	next := &lease{Model: extended, loaded: root.loaded, of: root}
	next.refs.Store(1)
	h.current.Swap(next).release()
	return true
}

// swap opens the model anew and lets it serve. It returns the new model, which the caller must release, and the version of the
// file that served before. On an error the old model goes on serving.
func (h *holder) swap() (fresh *lease, previous string, err error) {
	h.reload.Lock()
	defer h.reload.Unlock()
	if h.current.Load() == nil {
		return nil, "", errDraining
	}
	m, err := h.open()
	if err != nil {
		h.metrics.modelLoads.failure.Inc()
		return nil, "", &modelError{err}
	}
	old := h.install(m)
	defer old.release()
	return h.acquire(), old.Base().Version(), nil
}

// close gives the serving model back. No request may be made after it; a reload or a scrape of the metrics may still be
// under way.
func (h *holder) close() {
	h.reload.Lock()
	defer h.reload.Unlock()
	if l := h.current.Swap(nil); l != nil {
		l.release()
	}
}
