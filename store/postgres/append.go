package postgres

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/internal/clock"
)

const (
	// laneCount is the number of statements of Append that are under way at the same time.
	laneCount = 4
	// batchRecords is the number of records from which a statement takes no more calls.
	batchRecords = 500
	// queueLength is the number of calls that wait for a lane.
	queueLength = 1024
	// attemptTime is the time after which an attempt is not carried out any more, though its caller
	// may be waiting: the caller of one that was cancelled, or whose process died, is not.
	attemptTime = 10 * time.Second
)

// call is an Append on its way. The records are copied into columns: the caller may give up waiting
// while the call goes on.
type call struct {
	users   []string // of each record
	columns *columns
	until   time.Time // when to give up; see retry
	late    bool      // the last attempt came after its time, and did nothing

	results []store.Result
	err     error
	done    chan struct{}
	left    atomic.Bool           // nobody waits any more
	trouble atomic.Pointer[error] // why the last attempt failed
}

func newCall(records []store.Record, until time.Time) *call {
	c := &call{users: make([]string, len(records)), columns: newColumns(len(records)), until: until,
		results: make([]store.Result, len(records)), done: make(chan struct{})}
	marks := drawMarks(len(records))
	for i := range records {
		c.users[i] = records[i].User
		c.columns.add(&records[i].Event, records[i].Received, marks[i])
	}
	return c
}

// Append implements store.Store. Calls that come while a statement is under way share the next one.
func (s *Store) Append(ctx context.Context, records []store.Record) ([]store.Result, error) {
	if err := s.calls.Begin(ctx); err != nil {
		return nil, err
	}
	defer s.calls.Done()
	if len(records) == 0 {
		return nil, nil
	}
	if err := store.ValidateAll(records); err != nil {
		return nil, err
	}
	if err := s.alone(); err != nil {
		return nil, err
	}
	c := newCall(records, s.retry(ctx).until)
	select {
	case s.queue <- c:
	case <-ctx.Done():
		return nil, s.late(ctx)
	}
	select {
	case <-c.done:
		if c.err != nil {
			return nil, c.err
		}
		return c.results, nil
	case <-ctx.Done():
		c.left.Store(true)
		if why := c.trouble.Load(); why != nil {
			return nil, fmt.Errorf("%w: %w", ctx.Err(), *why)
		}
		return nil, s.late(ctx)
	}
}

// lane writes calls until the store is closed.
func (s *Store) lane() {
	for {
		select {
		case c := <-s.queue:
			s.write(s.gather(c))
		case <-s.life.Done():
			return
		}
	}
}

// gather returns a call with those that wait behind it.
func (s *Store) gather(first *call) []*call {
	calls, n := []*call{first}, len(first.users)
	for n < batchRecords {
		select {
		case c := <-s.queue:
			calls, n = append(calls, c), n+len(c.users)
		default:
			return calls
		}
	}
	return calls
}

// write repeats calls until they are written, refused, or given up by all callers.
func (s *Store) write(calls []*call) {
	for r := s.retry(s.life); ; {
		calls = slices.DeleteFunc(calls, func(c *call) bool { return c.left.Load() })
		if len(calls) == 0 {
			return
		}
		sent, err := s.attempt(calls)
		if err == nil {
			if calls = endWritten(calls); len(calls) == 0 {
				return
			}
			sent, err = false, errLate
		}
		// Those who have come last are the last to give up.
		r.until = time.Time{}
		why := r.outcome(err)
		for _, c := range calls {
			c.trouble.Store(&why)
			if c.until.After(r.until) {
				r.until = c.until
			}
		}
		if err := r.again(s.life, err); err != nil {
			endAll(calls, err)
			return
		}
		r.open = r.open || sent
	}
}

func endAll(calls []*call, err error) {
	for _, c := range calls {
		c.err = err
		close(c.done)
	}
}

// endWritten ends the calls whose events were written. It returns the others, which came too late.
func endWritten(calls []*call) []*call {
	return slices.DeleteFunc(calls, func(c *call) bool {
		if !c.late {
			close(c.done)
		}
		return !c.late
	})
}

// attempt writes calls by one statement. It does not end with the contexts of callers: a statement
// that waits for the standby must not be cancelled. sent is set if it may have been applied in
// spite of the error.
func (s *Store) attempt(calls []*call) (sent bool, err error) {
	b := newBatch(calls)
	conn, err := s.writes.Acquire(s.life)
	if err != nil {
		return false, err
	}
	defer conn.Release()
	defer dropBroken(s.life, s.writes, conn)
	untils, err := s.untils(b, conn)
	if err != nil {
		return false, err
	}
	return true, s.send(b, untils, conn)
}

// clockKey is the key of a connection's data that has the clock of its server.
const clockKey = "gsimc.clock"

// untils returns for each record the time, by the clock of the server, from which on it is not to
// be added: nobody waits for it then, and its user may have been erased.
func (s *Store) untils(b *batch, conn *pgxpool.Conn) ([]time.Time, error) {
	data := conn.Conn().PgConn().CustomData()
	theirs, _ := data[clockKey].(clock.Clock)
	if theirs.IsOld() {
		var now time.Time
		if err := conn.QueryRow(s.life, "SELECT clock_timestamp()").Scan(&now); err != nil {
			return nil, err
		}
		theirs = clock.Read(now)
		data[clockKey] = theirs
	}
	untils, most := make([]time.Time, 0, len(b.who)), time.Now().Add(attemptTime)
	for _, c := range b.calls {
		until := theirs.At(most)
		if c.until.Before(most) {
			until = theirs.At(c.until)
		}
		for range c.users {
			untils = append(untils, until)
		}
	}
	return untils, nil
}

func (s *Store) send(b *batch, untils []time.Time, conn *pgxpool.Conn) error {
	var outcomes []int16
	var revisions, marks, befores []int64
	c := b.columns
	err := conn.QueryRow(s.life, s.sql.append, s.address.strict, b.parts, b.users, b.who, c.ids,
		c.items, c.kinds, c.received, c.seconds, c.nanos, c.values, c.marks, untils).
		Scan(&outcomes, &revisions, &marks, &befores)
	if err == nil {
		err = confirmed(conn.Conn().PgConn())
	}
	if err != nil {
		return err
	}
	n := len(b.who)
	if len(outcomes) != n || len(revisions) != n || len(marks) != n || len(befores) != n {
		return errBadAnswer
	}
	at := 0
	for _, call := range b.calls {
		call.late = false
		for i := range call.results {
			if outcomes[at] == tooLate {
				call.late = true
				delete(conn.Conn().PgConn().CustomData(), clockKey) // it may have been set
			}
			call.results[i] = result(outcomes[at], revisions[at], marks[at], befores[at])
			at++
		}
	}
	return nil
}

// errBadAnswer: the functions in the database are not those of this package.
var errBadAnswer error = &failure{"the functions of the store in the database are damaged"}

// Outcomes of gsimc.append.
const (
	added    = 0
	repeated = 1
	conflict = 2
	tooLate  = 3
)

// errLate: the server got to a write after its time.
var errLate = fmt.Errorf("%w: PostgreSQL got to the write after the end of its time",
	store.ErrUnavailable)

func result(outcome int16, revision, mark, before int64) store.Result {
	if outcome == conflict {
		return store.Result{Err: &store.ConflictError{Revision: uint64(revision)}}
	}
	return store.Result{Version: store.Version{Revision: uint64(revision), Mark: uint64(mark)},
		Before: uint64(before), Duplicate: outcome == repeated}
}

// batch are calls as arguments of gsimc.append.
type batch struct {
	calls   []*call
	parts   []int16
	users   [][]byte // in the order of their bytes
	who     []int32  // of each record, from 1 on
	columns *columns
}

func newBatch(calls []*call) *batch {
	n := 0
	for _, c := range calls {
		n += len(c.users)
	}
	b := &batch{calls: calls, who: make([]int32, 0, n), columns: newColumns(n)}
	place := make(map[string]int32, n)
	names := make([]string, 0, n)
	for _, c := range calls {
		b.columns.addAll(c.columns)
		for _, user := range c.users {
			if _, there := place[user]; !there {
				place[user] = 0
				names = append(names, user)
			}
		}
	}
	slices.Sort(names)
	for i, user := range names {
		place[user] = int32(i + 1)
	}
	b.parts, b.users = held(names)
	for _, c := range calls {
		for _, user := range c.users {
			b.who = append(b.who, place[user])
		}
	}
	return b
}

// held returns users as arguments of gsimc.hold.
func held(users []string) (parts []int16, ids [][]byte) {
	parts, ids = make([]int16, len(users)), make([][]byte, len(users))
	for i, user := range users {
		parts[i], ids[i] = partition(user), []byte(user)
	}
	return parts, ids
}
