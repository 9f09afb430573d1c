package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gsimc/gsimc/store"
)

// Lease implements store.Shared, by the clock of the database.
func (s *Store) Lease(
	ctx context.Context, name, holder string, ttl time.Duration,
) (term uint64, held bool, err error) {
	if err := store.ValidateNote(name, holder, nil); err != nil {
		return 0, false, err
	}
	var got int64
	var taken bool
	// A holder that asks again keeps its term, so the call may be repeated.
	err = s.transact(ctx, true, func(ctx context.Context, tx pgx.Tx) error {
		err := tx.QueryRow(ctx, s.sql.lease, []byte(name), []byte(holder), ttl.Microseconds()).
			Scan(&got)
		if taken = err == nil; errors.Is(err, pgx.ErrNoRows) {
			return tx.QueryRow(ctx, s.sql.term, []byte(name)).Scan(&got)
		}
		return err
	})
	if err != nil {
		return 0, false, err
	}
	return uint64(got), taken, nil
}

// Release implements store.Shared.
func (s *Store) Release(ctx context.Context, name, holder string) error {
	return s.transact(ctx, true, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, s.sql.release, []byte(name), []byte(holder))
		return err
	})
}

// PutNote implements store.Shared.
func (s *Store) PutNote(
	ctx context.Context, topic, name string, value []byte, fence store.Fence,
) error {
	if err := store.ValidateNote(topic, name, value); err != nil {
		return err
	}
	kept := append([]byte{}, value...) // the caller may give up waiting
	return s.transact(ctx, true, func(ctx context.Context, tx pgx.Tx) error {
		if err := s.holds(ctx, tx, fence); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, s.sql.putNote, []byte(topic), []byte(name), kept)
		return err
	})
}

// DeleteNotes implements store.Shared.
func (s *Store) DeleteNotes(
	ctx context.Context, topic string, names []string, fence store.Fence,
) error {
	all := byteSlices(names)
	return s.transact(ctx, true, func(ctx context.Context, tx pgx.Tx) error {
		if err := s.holds(ctx, tx, fence); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, s.sql.deleteNotes, []byte(topic), all)
		return err
	})
}

// holds returns store.ErrLeaseLost if the fence does not hold, and else makes it hold until the end
// of the transaction.
func (s *Store) holds(ctx context.Context, tx pgx.Tx, fence store.Fence) error {
	if fence == (store.Fence{}) {
		return nil
	}
	var term int64
	err := tx.QueryRow(ctx, s.sql.fence, []byte(fence.Lease), int64(fence.Term)).Scan(&term)
	if errors.Is(err, pgx.ErrNoRows) {
		return store.ErrLeaseLost
	}
	return err
}

// Note implements store.Shared.
func (s *Store) Note(
	ctx context.Context, topic, name string,
) (value []byte, found bool, err error) {
	err = s.ask(ctx, func(conn *pgxpool.Conn) error {
		err := conn.QueryRow(ctx, s.sql.note, []byte(topic), []byte(name)).Scan(&value)
		if found = err == nil; errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return value, found, err
}

// NoteNames implements store.Shared.
func (s *Store) NoteNames(ctx context.Context, topic string) (names []string, err error) {
	err = s.ask(ctx, func(conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, s.sql.noteNames, []byte(topic))
		if err != nil {
			return err
		}
		names, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
			var name []byte
			err := row.Scan(&name)
			return string(name), err
		})
		return err
	})
	return names, err
}
