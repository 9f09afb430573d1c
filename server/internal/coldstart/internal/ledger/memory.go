package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/trend"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/tally"
	"github.com/gsimc/gsimc/server/internal/models"
)

// Memory is the ledger of a server that has its store for itself. A file keeps what serves for the
// next start.
type Memory struct {
	stage   *Stage
	file    string // empty: none
	account *Account
	changed atomic.Pointer[tally.Pending] // of the account's tally; nil: it has none

	begun   bool               // the file has not been read for this base
	items   []model.NewItem    // that serve
	users   map[string]float64 // by which they were placed
	by      map[string]placing // and by what else
	weights uint64             // of events by which they were placed
	trends  []byte             // the document of the trends that serve; empty: none do
	dirty   bool               // other items or trends serve than those of the file
	next    time.Time          // when the file may be written again
	failing bool               // it could not be
}

// NewMemory returns a ledger of no items, with a file for the next start; empty: none.
func NewMemory(s *Stage, file string) *Memory {
	return &Memory{stage: s, file: file, account: newAccount()}
}

// Arrived counts a new user of the store.
func (m *Memory) Arrived() { m.account.Samples.Add(1) }

// Changed takes down that a user has another history. told may be nil.
func (m *Memory) Changed(user string, told *atomic.Uint64) {
	if p := m.changed.Load(); p != nil {
		add(p, user, told)
	}
}

// add adds a user, with the word of memory if there is one.
func add(p *tally.Pending, user string, told *atomic.Uint64) {
	if told == nil {
		p.Add(user)
	} else {
		p.AddTold(user, told)
	}
}

// Note takes down that a user has an item.
func (m *Memory) Note(user, item string) { m.account.Samples.Note(user, item) }

// Forget takes an erased user out of the samples, not before the next look. It is due if many wait.
func (m *Memory) Forget(user string) (due bool) {
	m.Changed(user, nil)
	return m.account.Samples.Forget(user)
}

// Run does nothing: memory needs no keeping up.
func (m *Memory) Run(context.Context) {}

// Begin keeps the items that are new to both models, the number of users, and what was counted.
func (m *Memory) Begin(base *model.Model, fixed bool) {
	a := m.account
	a.Rows, a.Unserved, a.More, a.Searched = map[string]Row{}, false, false, false
	a.Samples.Keep(newTo(base))
	if m.items != nil {
		a.Served = make(map[string]bool, len(m.items))
		for _, item := range m.items {
			a.Served[item.ID] = true
		}
	}
	m.stage.begin()
	m.begun, m.items, m.users, m.by, m.trends, m.dirty = true, nil, nil, nil, nil, false
	m.next = time.Now().Add(keepFirst)
	a.Borrowed = nil // rows in the basis of the model before
	before, whole := a.Tally, a.Tallied
	a.Tally = nil
	if fixed {
		m.changed.Store(nil)
		return
	}
	a.count(base)
	if before != nil && whole {
		a.Tallied, a.Heir = a.Tally.Inherit(before), true
	}
	m.changed.Store(a.Tally.Pending)
}

// Take returns the account, which is always up to date. The first one of a base lets what the file
// has serve. One that is damaged is told, and the search finds everything again.
func (m *Memory) Take(ctx context.Context, l *models.Lease, _ bool) (*Account, error) {
	if m.begun && m.file != "" {
		m.begun = false
		switch err := m.restore(ctx, l); {
		case errors.Is(err, ErrOtherModel):
			return nil, err
		case err != nil:
			m.stage.Failed(ctx, "what was kept of new items and trends cannot be used: they wait "+
				"until the store has been searched", fmt.Errorf("%s: %w", m.file, err))
		}
	}
	return m.account, nil
}

// Busy does nothing: nobody else waits for this server.
func (m *Memory) Busy(context.Context, *model.Model) error { return nil }

// Publish extends the model of this server.
func (m *Memory) Publish(
	ctx context.Context, l *models.Lease, items []model.NewItem, began time.Time,
) error {
	extended, err := l.Extend(items)
	if err != nil {
		return err
	}
	m.items, m.weights, m.dirty = items, m.account.Weights, true
	m.users, m.by = placedBy(m.account.Rows)
	return m.stage.serve(ctx, l, extended, len(items), began)
}

// PublishTrends lets a snapshot serve on this server.
func (m *Memory) PublishTrends(
	ctx context.Context, l *models.Lease, s *trend.Snapshot,
) error {
	document, err := s.Encode(l.Base().Version()) // it gets its name
	if err != nil {
		return err
	}
	m.trends, m.dirty = document, true
	return m.stage.serveTrends(ctx, l, s)
}

// Persist writes the file, if it was not written lately. What else the account has is found again
// by a search.
func (m *Memory) Persist(ctx context.Context, l *models.Lease) error {
	if !m.account.More && !time.Now().Before(m.next) {
		m.End(ctx, l)
	}
	return nil
}

// End writes the file. Of errors in a row the first one is told: the file of before goes on being
// good for a start.
func (m *Memory) End(ctx context.Context, l *models.Lease) {
	if m.file == "" || !m.dirty {
		return
	}
	err := m.keep(l)
	m.next, m.dirty = time.Now().Add(keepEvery), err != nil
	if err != nil && !m.failing {
		m.stage.Failed(ctx, "new items and trends cannot be kept for the next start", err)
	}
	m.failing = err != nil
}

// Done takes the erased users out of the samples: a look that places nothing, as while no model
// serves that could be extended, takes no census. It returns the error: each one is told.
func (m *Memory) Done(err error) error {
	m.account.Samples.Purge()
	return err
}
