// Package postgres keeps user histories, the catalogue, leases and notes in PostgreSQL, for several
// servers over one store. It is the strict profile of a shared store: what Append has acknowledged
// is on the disks of two machines, and what a reader has seen is too.
//
// # Profiles
//
// The strict profile, which is the default, wants fsync and a synchronous standby that confirms
// every commit. [Open] refuses a server without them and names the setting and the command. The
// development profile opens any server and promises what is found there; [Store.Promises] says
// what that is.
//
// # Outcomes
//
// A write is one statement, or one transaction for Rewrite. While the server is away, a call is
// repeated until its context ends, or for half a minute without a deadline; repeated events are
// known by their ids, and by the marks of their first attempt, so that a call does not see itself
// as a duplicate. An error that wraps store.ErrUnavailable leaves the outcome open.
//
// PostgreSQL shows a commit when the standby has confirmed it. There are two ways around that, and
// both are closed. A server that restarts after a crash shows commits that were not confirmed, so
// each new connection begins with a commit of its own and waits for that. A wait that is cancelled
// ends with a warning, so nothing of this package cancels one, and a write that ends with the
// warning is repeated instead of acknowledged.
//
// An Append carries the time from which on nobody waits for it, by the clock of the server, and is
// not carried out then: its user may have been erased.
//
// While no standby is connected, writes wait, until [Store.Stats] has seen that for some time: then
// they are refused at once, and nothing of them was done.
//
// # Layout
//
// schema has the tables and the functions, which make a write one round trip. All ids are
// bytea. Users lie in 16 partitions by [store.Shard]; the partition of a user is found without
// asking the server.
package postgres

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/internal/calls"
)

// Store is a store.Store on PostgreSQL. Use [Open].
type Store struct {
	reads    *pgxpool.Pool
	writes   *pgxpool.Pool
	address  *address
	sql      *statements
	identity store.Identity
	found    settings
	sizes    sizes
	standby  atomic.Pointer[standby] // nil: nobody has looked

	queue chan *call
	lanes sync.WaitGroup

	calls   calls.Calls
	closing chan struct{}      // closed when Close begins
	life    context.Context    // ends when Close has waited for all calls
	end     context.CancelFunc // ends life
}

var (
	_ store.Shared = (*Store)(nil)
	_ store.Items  = (*Store)(nil)
)

// Open opens the store at an address such as
//
//	postgres://gsimc@db-1,db-2/gsimc?target_session_attrs=read-write&sslmode=verify-full
//
// It has the form of libpq, with several hosts for a failover, and three parameters besides:
// profile=development, which opens a server that cannot keep the promises of the strict profile,
// schema=NAME, the schema of the tables, by default "gsimc", and password-file=FILE. Without the
// last the password comes from PGPASSFILE or PGPASSWORD; one in the address is refused. Each new
// connection reads the files that the address and the environment name.
//
// A new database gets the tables, and older ones are brought to the version of this package, if the
// role may do that. A newer version is refused with a [*SchemaError], a server that cannot keep the
// strict profile with a [*ProfileError].
func Open(ctx context.Context, url string) (*Store, error) {
	a, err := parseAddress(url)
	if err != nil {
		return nil, err
	}
	s := &Store{address: a, sql: newStatements(a.schema), queue: make(chan *call, queueLength),
		closing: make(chan struct{}), sizes: sizes{busy: make(chan struct{}, 1)}}
	s.life, s.end = context.WithCancel(context.Background())
	if err := s.open(ctx); err != nil {
		s.end()
		s.closePools()
		return nil, err
	}
	for range laneCount {
		s.lanes.Go(s.lane)
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	conn, found, err := s.address.connect(ctx, s.life)
	if err != nil {
		return explain(err)
	}
	defer hangUp(conn)
	s.found = found
	if err := migrate(ctx, conn, s.address.schema); err != nil {
		return err
	}
	var id []byte
	if err := conn.QueryRow(ctx, s.sql.identity).Scan(&id); err != nil {
		return explain(err)
	}
	copy(s.identity.ID[:], id)
	s.identity.Lags = !s.address.strict
	most := s.address.config.MaxConns
	if s.reads, err = s.address.pool(s.life, most, most); err != nil {
		return explain(err)
	}
	s.writes, err = s.address.pool(s.life, 0, writers)
	return explain(err)
}

// CheckAddress returns why [Open] would refuse an address without asking a server: an
// [*AddressError].
func CheckAddress(url string) error {
	_, err := parseAddress(url)
	return err
}

// Strict reports whether the store was opened with the strict profile.
func (s *Store) Strict() bool { return s.address.strict }

// Identity implements store.Store.
func (s *Store) Identity() store.Identity { return s.identity }

// Close implements store.Store. Calls that are being repeated because the server is away end with
// store.ErrUnavailable.
func (s *Store) Close() error {
	if err := s.calls.Close(); err != nil {
		return err
	}
	close(s.closing)
	s.calls.Wait()
	s.end()
	s.lanes.Wait()
	s.closePools()
	return nil
}

func (s *Store) closePools() {
	for _, p := range []*pgxpool.Pool{s.reads, s.writes} {
		if p != nil {
			p.Close()
		}
	}
}
