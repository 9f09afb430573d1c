package postgres

import (
	"context"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gsimc/gsimc/store"
)

// pageEvents is the number of events that are read at once, in one round trip. No connection is
// held while they are passed on.
const pageEvents = 1000

// Since implements store.Store. A history of up to pageEvents missing events is one round trip. If
// a longer one is erased or rewritten meanwhile, it is passed anew from revision 1.
func (s *Store) Since(
	ctx context.Context, user string, known store.Version,
	fn func(store.Version, store.Event) error,
) (head store.Version, same bool, err error) {
	if err := s.calls.Begin(ctx); err != nil {
		return store.Version{}, false, err
	}
	defer s.calls.Done()
	limit := pageEvents
	if fn == nil {
		limit = 0
	}
	p, err := s.page(ctx, user, known, math.MaxInt64, limit)
	if err != nil {
		return store.Version{}, false, err
	}
	head, same = p.head, p.same
	for at := known; ; {
		for _, e := range p.events {
			if err := ctx.Err(); err != nil {
				return store.Version{}, false, err
			}
			if err := fn(e.version, e.event); err != nil {
				return store.Version{}, false, err
			}
			at = e.version
		}
		if fn == nil || len(p.events) < pageEvents || at == head {
			return head, same, nil
		}
		p, err = s.page(ctx, user, at, head.Revision, pageEvents)
		if err == nil && !p.same { // another life has begun: its head is not bounded by the former
			same = false
			p, err = s.page(ctx, user, store.Version{}, math.MaxInt64, pageEvents)
			head = p.head
		}
		if err != nil {
			return store.Version{}, false, err
		}
	}
}

// page is a part of a history.
type page struct {
	head   store.Version // of the whole history
	same   bool          // the history begins with the known version
	events []versioned
}

type versioned struct {
	version store.Version
	event   store.Event
}

// page reads the events after a known version up to a revision, or from revision 1 on if the
// history does not begin with it; at most limit.
func (s *Store) page(
	ctx context.Context, user string, known store.Version, to uint64, limit int,
) (p page, err error) {
	err = s.read(ctx, func(conn *pgxpool.Conn) error {
		p = page{}
		return s.readPage(ctx, conn, &p, user, known, to, limit)
	})
	return p, err
}

func (s *Store) readPage(
	ctx context.Context, conn *pgxpool.Conn, p *page, user string, known store.Version, to uint64,
	limit int,
) error {
	after := int64(-1) // no event has it
	if known.Revision <= math.MaxInt64 {
		after = int64(known.Revision)
	}
	rows, err := conn.Query(ctx, s.sql.since[partition(user)], []byte(user), after,
		int64(known.Mark), int64(to), limit)
	if err != nil {
		return err
	}
	defer rows.Close()
	var head, mark, knownMark int64
	var r row
	fields := append([]any{&head, &mark, &knownMark}, r.fields()...)
	next := int64(0)
	for rows.Next() {
		if err := rows.Scan(fields...); err != nil {
			return err
		}
		if next == 0 {
			p.head = store.Version{Revision: uint64(head), Mark: uint64(mark)}
			if next = 1; after > 0 && knownMark != 0 && uint64(knownMark) == known.Mark {
				p.same, next = true, after+1
			}
		}
		if r.revision == 0 { // no events
			break
		}
		if r.revision != next {
			return missing(next)
		}
		next++
		p.events = append(p.events, versioned{r.version(), r.event()})
	}
	rows.Close()
	if known.Revision == 0 {
		p.same = true
	}
	if err := rows.Err(); err != nil {
		return err
	}
	last, wanted := uint64(next-1), min(p.head.Revision, to)
	if limit > 0 && len(p.events) < limit && last < wanted {
		return missing(next)
	}
	return nil
}

// missing is the error of a history without one of its events.
func missing(revision int64) error {
	return fmt.Errorf("%w: the event of revision %d is missing", store.ErrCorrupt, revision)
}

// ask is a call that runs fn as read does.
func (s *Store) ask(ctx context.Context, fn func(*pgxpool.Conn) error) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.Done()
	return s.read(ctx, fn)
}

// read runs fn with a connection, and again while the server is away.
func (s *Store) read(ctx context.Context, fn func(*pgxpool.Conn) error) error {
	for r := s.retry(ctx); ; {
		err := s.withConn(ctx, fn)
		if err == nil {
			return nil
		}
		if err := r.again(ctx, err); err != nil {
			return err
		}
	}
}

func (s *Store) withConn(ctx context.Context, fn func(*pgxpool.Conn) error) error {
	conn, err := s.reads.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	err = fn(conn)
	dropBroken(ctx, s.reads, conn)
	return err
}

// dropBroken closes all connections of a pool if one of them was broken by the server: the others
// are likely to be, too, and each would cost a call an attempt.
func dropBroken(ctx context.Context, pool *pgxpool.Pool, conn *pgxpool.Conn) {
	if ctx.Err() == nil && conn.Conn().IsClosed() {
		pool.Reset()
	}
}
