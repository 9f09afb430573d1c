package coldstart

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/background"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/ledger"
	"github.com/gsimc/gsimc/server/internal/state"
)

// Size of the sample on which the drift is measured.
const (
	driftUsers     = 256 // users with the newest events
	driftHistory   = 20  // newest events of each
	driftMinEvents = 100 // with fewer events the drift is unknown
)

// recentUsers remembers the users of the newest events, each once. It is safe for concurrent use.
type recentUsers struct {
	mu   sync.Mutex
	ids  []string // at most driftUsers; once full, next is the oldest
	next int
	at   map[string]bool
	news bool // an event has come, or renew was called, since take
}

func newRecentUsers() *recentUsers { return &recentUsers{at: map[string]bool{}} }

func (r *recentUsers) add(events []state.Written) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range events {
		r.addUser(events[i].Record.User)
	}
}

func (r *recentUsers) addUser(user string) {
	r.news = true
	if r.at[user] {
		return
	}
	user = strings.Clone(user) // it may be a piece of a large message
	r.at[user] = true
	if len(r.ids) < driftUsers {
		r.ids = append(r.ids, user)
		return
	}
	delete(r.at, r.ids[r.next])
	r.ids[r.next] = user
	r.next = (r.next + 1) % driftUsers
}

// forget lets go of an erased user.
func (r *recentUsers) forget(user string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.at[user] {
		return
	}
	delete(r.at, user)
	kept := make([]string, 0, len(r.ids))
	for i := range r.ids { // from the oldest on
		if id := r.ids[(r.next+i)%len(r.ids)]; id != user {
			kept = append(kept, id)
		}
	}
	r.ids, r.next = kept, 0
}

// renew makes the next take report news.
func (r *recentUsers) renew() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.news = true
}

// take returns the users. news reports whether an event has come, or renew was called, since the
// last call.
func (r *recentUsers) take() (ids []string, news bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	news, r.news = r.news, false
	return slices.Clone(r.ids), news
}

// measureDrift compares the newest events of recent users with the training, see [model.Energy].
func (x *Extender) measureDrift(ctx context.Context, m *model.Model) error {
	users, news := x.recent.take()
	if !news {
		return nil
	}
	energy, pace := m.NewEnergy(), background.NewPacer(ledger.DutyCycle)
	for _, user := range users {
		history, _, _, err := x.history(ctx, m.Base(), nil, user)
		if err != nil {
			return err
		}
		energy.Add(history[max(0, len(history)-driftHistory):])
		if err := pace.Pause(ctx); err != nil {
			return err
		}
	}
	ratio := energy.Drift()
	if energy.Events < driftMinEvents {
		ratio = math.NaN()
	}
	x.Metrics.Drift.Set(ratio)
	return nil
}
