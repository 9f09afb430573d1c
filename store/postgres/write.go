package postgres

import (
	"context"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/internal/plan"
)

// transact is a call that runs fn in a transaction and commits it. If the context ends, the caller
// gives up the waiting and not the write. While the server is away it begins again; if the outcome
// of a commit is unknown, it is retried only when repeats is true.
func (s *Store) transact(
	ctx context.Context, repeats bool, fn func(context.Context, pgx.Tx) error,
) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.Done()
	if err := s.alone(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- s.transactions(ctx, repeats, fn) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		select {
		case err := <-done:
			return err
		default:
			return s.late(ctx)
		}
	}
}

func (s *Store) transactions(
	ctx context.Context, repeats bool, fn func(context.Context, pgx.Tx) error,
) error {
	for r := s.retry(ctx); ; {
		open, err := s.transaction(ctx, fn)
		if err == nil {
			return nil
		}
		r.open = r.open || open
		if open && !repeats {
			return r.outcome(err)
		}
		if err := r.again(ctx, err); err != nil {
			return err
		}
	}
}

// transaction runs fn in one transaction. open is set if the commit was sent and may have taken
// place in spite of the error.
func (s *Store) transaction(
	ctx context.Context, fn func(context.Context, pgx.Tx) error,
) (open bool, err error) {
	conn, err := s.writes.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Release()
	defer dropBroken(s.life, s.writes, conn)
	tx, err := conn.Begin(s.life)
	if err != nil {
		return false, err
	}
	defer s.rollBack(tx)
	if s.address.strict {
		if _, err := tx.Exec(s.life, s.sql.confirm); err != nil {
			return false, err
		}
	}
	if err := fn(s.life, tx); err != nil {
		return false, err
	}
	if err := tx.Commit(s.life); err != nil {
		return true, err
	}
	return true, s.resettle(conn)
}

// rollBack ends a transaction that was not committed.
func (s *Store) rollBack(tx pgx.Tx) {
	_ = tx.Rollback(s.life) // after a commit or on a broken connection there is nothing to do
}

// resettle makes good for a wait for the standby that was cancelled.
func (s *Store) resettle(conn *pgxpool.Conn) error {
	if confirmed(conn.Conn().PgConn()) == nil {
		return nil
	}
	return s.address.settle(s.life, conn.Conn())
}

// Erase implements store.Store.
func (s *Store) Erase(ctx context.Context, user string) (n uint64, err error) {
	var revision int64
	err = s.transact(ctx, false, func(ctx context.Context, tx pgx.Tx) error {
		return tx.QueryRow(ctx, s.sql.erase, partition(user), []byte(user)).
			Scan(&revision)
	})
	if err != nil {
		return 0, err
	}
	return uint64(revision), nil
}

// Rewrite implements store.Store.
func (s *Store) Rewrite(
	ctx context.Context, users []string, fn func([][]store.Event) [][]store.Event,
) (versions []store.Version, err error) {
	if err := plan.CheckUsers(users); err != nil {
		return nil, err
	}
	w := &rewrite{Store: s, users: slices.Clone(users), fn: fn}
	err = s.transact(ctx, false, w.run)
	w.mu.Lock() // fn must not run on when its caller has left
	defer w.mu.Unlock()
	w.left = true
	if err != nil {
		return nil, err
	}
	return w.versions, nil
}

// rewrite is a Rewrite on its way.
type rewrite struct {
	*Store
	users []string
	fn    func([][]store.Event) [][]store.Event

	versions []store.Version

	mu   sync.Mutex // held while fn runs
	left bool       // the caller has left
}

func (w *rewrite) run(ctx context.Context, tx pgx.Tx) error {
	lives, heads, err := w.hold(ctx, tx)
	if err != nil {
		return err
	}
	before := make([][]store.Event, len(w.users))
	for i, user := range w.users {
		if before[i], err = w.history(ctx, tx, user, lives[i], heads[i].Revision); err != nil {
			return err
		}
	}
	after, err := w.asked(before)
	if err != nil {
		return err
	}
	if err := plan.CheckRewritten(w.users, after); err != nil {
		return err
	}
	w.versions = heads
	for i, user := range w.users {
		if after[i] == nil && heads[i].Revision > 0 {
			continue
		}
		if w.versions[i], err = w.replace(ctx, tx, user, lives[i], after[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *rewrite) asked(before [][]store.Event) ([][]store.Event, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left {
		return nil, errLeft
	}
	return w.fn(before), nil
}

// errLeft ends the transaction of a caller who has left.
var errLeft error = &failure{"nobody waits any more"}

// hold locks the users in the order of their bytes.
func (w *rewrite) hold(
	ctx context.Context, tx pgx.Tx,
) (lives []int64, heads []store.Version, err error) {
	sorted, place := sortedPlaces(w.users)
	var theirLives, revisions, marks []int64
	parts, ids := held(sorted)
	if len(ids) == 0 {
		return nil, nil, nil
	}
	err = tx.QueryRow(ctx, w.sql.hold, parts, ids).Scan(&theirLives, &revisions, &marks)
	if err != nil {
		return nil, nil, err
	}
	if len(theirLives) != len(sorted) {
		return nil, nil, errBadAnswer
	}
	for _, user := range w.users {
		at := place[user]
		lives = append(lives, theirLives[at])
		heads = append(heads, store.Version{Revision: uint64(revisions[at]),
			Mark: uint64(marks[at])})
	}
	return lives, heads, nil
}

// history reads the events of a life.
func (w *rewrite) history(
	ctx context.Context, tx pgx.Tx, user string, life int64, revision uint64,
) (events []store.Event, err error) {
	if revision == 0 {
		return nil, nil
	}
	rows, err := tx.Query(ctx, w.sql.history[partition(user)], life)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var r row
	for fields := r.fields(); rows.Next(); {
		if err := rows.Scan(fields...); err != nil {
			return nil, err
		}
		if r.revision != int64(len(events)+1) {
			return nil, missing(int64(len(events) + 1))
		}
		events = append(events, r.event())
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if uint64(len(events)) != revision {
		return nil, missing(int64(len(events) + 1))
	}
	return events, nil
}

// replace begins a history anew with the events, which may be none.
func (w *rewrite) replace(
	ctx context.Context, tx pgx.Tx, user string, life int64, events []store.Event,
) (store.Version, error) {
	if _, err := tx.Exec(ctx, w.sql.deleteEvents, life); err != nil {
		return store.Version{}, err
	}
	part, id := partition(user), []byte(user)
	if len(events) == 0 {
		_, err := tx.Exec(ctx, w.sql.deleteHead, part, id)
		return store.Version{}, err
	}
	if err := tx.QueryRow(ctx, w.sql.nextLife, int64(part)).Scan(&life); err != nil {
		return store.Version{}, err
	}
	c, marks := newColumns(len(events)), drawMarks(len(events))
	for i := range events {
		c.add(&events[i], false, marks[i])
	}
	head := store.Version{Revision: uint64(len(events)), Mark: uint64(marks[len(marks)-1])}
	// The row stays the same one: an erasure that waits for its lock would not see another.
	_, err := tx.Exec(ctx, w.sql.moveHead, part, id, life, int64(head.Revision), int64(head.Mark))
	if err != nil {
		return store.Version{}, err
	}
	_, err = tx.Exec(ctx, w.sql.insertEvents, life, c.ids, c.items, c.kinds, c.seconds, c.nanos,
		c.values, c.marks)
	return head, err
}
