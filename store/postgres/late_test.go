package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/store"
)

// An event whose Append ended at its deadline does not come after an erasure of its user, though
// its statement was still waiting: for the user before it in the same call, whom another
// transaction holds.
func TestLateEventsAreNotAdded(t *testing.T) {
	t.Parallel()
	url := emptyURL(t)
	s := openAt(t, url)
	defer closeAll(t, s)
	ctx := t.Context()
	ofA := store.Record{User: "a", Event: store.Event{ID: "early", Item: "i"}}
	check.Get(s.Append(ctx, []store.Record{ofA}))(t)
	ofA.Event.ID = "late"
	_, schema, _ := strings.Cut(url, "&schema=")
	other := check.Get(enginetest.SharedPostgres(t, true).Primary.Connect(ctx, "postgres"))(t)
	defer other.Close(ctx)
	tx, err := other.Begin(ctx)
	check.Must(t, err)
	_, err = tx.Exec(ctx, "SELECT 1 FROM "+schema+".head WHERE user_id = 'a' FOR UPDATE")
	check.Must(t, err)
	waits := "wait_event_type = 'Lock' AND query LIKE '%" + schema + ".append(%'"
	for patience := time.Second; statements(t, tx, waits) == 0; patience *= 2 {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		_, err := s.Append(ctx, append(one("late"), ofA))
		check.Fails(t, err, context.DeadlineExceeded, "Append")
	}
	check.Get(s.Erase(ctx, "u"))(t)
	check.Must(t, tx.Commit(ctx))
	active := strings.Replace(waits, "wait_event_type = 'Lock'", "state = 'active'", 1)
	for statements(t, other, active) > 0 {
		time.Sleep(10 * time.Millisecond)
	}
	for user, want := range map[string]uint64{"a": 1, "u": 0} {
		head, _, err := s.Since(ctx, user, store.Version{}, nil)
		if head.Revision != want || err != nil {
			t.Errorf("%s: %d events, %v; want %d", user, head.Revision, err, want)
		}
	}
	var heads int
	err = other.QueryRow(ctx, "SELECT count(*) FROM "+schema+".head WHERE revision = 0").Scan(&heads)
	if heads > 0 || err != nil {
		t.Errorf("%d users without events are known by their ids, %v", heads, err)
	}
}

// statements counts the statements that are in a state.
func statements(t *testing.T, c interface {
	QueryRow(context.Context, string, ...any) pgx.Row
}, state string) (n int) {
	t.Helper()
	check.Must(t, c.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE "+
		"pid <> pg_backend_pid() AND "+state).Scan(&n))
	return n
}

// The first event of a user may wait for the standby when its caller leaves. An erasure waits for
// it, and does not say that there is nobody.
func TestErasureWaitsForFirstEvent(t *testing.T) {
	t.Parallel()
	p := enginetest.NewPostgres(t, enginetest.PostgresConfig{Standby: true})
	s := openAt(t, p.URL("postgres"))
	defer closeAll(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watcher, err := p.Primary.Connect(t.Context(), "postgres")
	check.Must(t, err)
	defer watcher.Close(ctx)
	// A new connection would wait for the standby. This makes two.
	_, err = s.Rewrite(ctx, []string{"other"}, func([][]store.Event) [][]store.Event {
		check.Pass(t, check.Err(s.Erase(ctx, "nobody")), "Erase")
		return [][]store.Event{nil}
	})
	check.Must(t, err)
	p.Standby.Kill()
	left := appending(ctx, s, "first")
	waiting(t, p, writes, "*")
	cancel()
	<-left
	erased := make(chan uint64, 1)
	go func() {
		n, err := s.Erase(t.Context(), "u")
		check.Pass(t, err, "Erase")
		erased <- n
	}()
	for statements(t, watcher, "wait_event_type = 'Lock'") == 0 && len(erased) == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	check.Must(t, p.Standby.Start())
	check.Same(t, uint64(1), <-erased, "events that were erased")
	wantRevision(t, s, "after the erasure", 0)
}
