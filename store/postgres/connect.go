package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gsimc/gsimc/store/internal/tcp"
)

const (
	// readers is the number of connections for reads, all of which stay open: a new one is of no
	// use while the standby is away.
	readers = 16
	// writers is that of connections for writes, which may all wait for the standby.
	writers = 2 * laneCount
)

// A connection whose other end is gone without a word breaks after about deadPeer.
const deadPeer = 10 * time.Second

// settings are those of a server that decide what a commit is worth.
type settings struct {
	version          int    // of the server, as 150004
	fsync, pages     bool   // fsync and full_page_writes
	commit, standbys string // synchronous_commit and synchronous_standby_names
}

// ProfileError is a setting of a server with which it cannot keep the strict profile.
type ProfileError struct {
	// Setting is its name, and Value what it is.
	Setting, Value string
	// Command is what an administrator has to run.
	Command string
}

// Error names the setting, and what to do.
func (e *ProfileError) Error() string {
	return fmt.Sprintf("%s is %q, and the strict profile cannot be kept: run %s on the server, or "+
		"add profile=development to the address of the store to go without its promises",
		e.Setting, e.Value, e.Command)
}

// check returns why the strict profile cannot be kept.
func (s *settings) check() error {
	switch {
	case !s.fsync:
		return &ProfileError{"fsync", "off", "ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf()"}
	case !s.pages:
		return &ProfileError{"full_page_writes", "off",
			"ALTER SYSTEM SET full_page_writes = on; SELECT pg_reload_conf()"}
	case s.standbys == "":
		return &ProfileError{"synchronous_standby_names", "", "ALTER SYSTEM SET " +
			"synchronous_standby_names = 'ANY 1 (NAMES OF STANDBYS)'; SELECT pg_reload_conf()"}
	case s.commit != "on" && s.commit != "remote_apply":
		return &ProfileError{"synchronous_commit", s.commit,
			"ALTER SYSTEM SET synchronous_commit = remote_apply; SELECT pg_reload_conf()"}
	}
	return nil
}

// pool returns up to most connections to the store, each of which has passed [address.greet]. Of
// them least are kept open.
func (a *address) pool(ctx context.Context, least, most int32) (*pgxpool.Pool, error) {
	config := a.config.Copy()
	config.MinConns, config.MaxConns = least, most
	config.MaxConnLifetime, config.MaxConnLifetimeJitter = 24*time.Hour, time.Hour
	config.MaxConnIdleTime = time.Hour
	// A broken connection is noticed when it is used, and the call repeated: see dropBroken.
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		dialOnce(ctx, c)
		return a.refresh(c)
	}
	config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		_, err := a.greet(ctx, c)
		return err
	}
	return pgxpool.NewWithConfig(ctx, config)
}

// connect returns a connection outside of the pools, which breaks at the end of life.
func (a *address) connect(ctx, life context.Context) (*pgx.Conn, settings, error) {
	config := a.config.ConnConfig.Copy()
	dialOnce(life, config)
	if err := a.refresh(config); err != nil {
		return nil, settings{}, err
	}
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, settings{}, err
	}
	found, err := a.greet(ctx, c)
	if err != nil {
		hangUp(c)
		return nil, settings{}, err
	}
	return c, found, nil
}

// hangUp closes a connection that need not be in order.
func hangUp(c *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.Close(ctx) // it is of no more use either way
}

// greet looks at a server that was just connected to. In the strict profile it pins the setting of
// commits, and waits until all that the server shows is confirmed by the standby: after a crash a
// server shows commits that nobody has confirmed yet.
func (a *address) greet(ctx context.Context, c *pgx.Conn) (settings, error) {
	var s settings
	err := c.QueryRow(ctx, `SELECT current_setting('server_version_num')::int,
		current_setting('fsync')::bool, current_setting('full_page_writes')::bool,
		current_setting('synchronous_commit'), current_setting('synchronous_standby_names')`).
		Scan(&s.version, &s.fsync, &s.pages, &s.commit, &s.standbys)
	if err != nil || !a.strict {
		return s, err
	}
	if err := s.check(); err != nil {
		return s, err
	}
	_, err = c.Exec(ctx, "SELECT set_config('synchronous_commit', $1, false)", s.commit)
	if err != nil {
		return s, err
	}
	return s, a.settle(ctx, c)
}

// settle commits something and waits until the standby has confirmed it, and with it all commits
// before.
func (a *address) settle(ctx context.Context, c *pgx.Conn) error {
	if !a.strict {
		return nil
	}
	_, err := c.Exec(ctx, "SELECT pg_logical_emit_message(true, 'gsimc', '')")
	if err == nil {
		err = confirmed(c.PgConn())
	}
	return err
}

// errUnconfirmed: a commit was not confirmed by the standby. It may be visible.
var errUnconfirmed = errors.New("the wait for the standby was cancelled by an administrator")

// warned is the key of a connection's data that says that a wait for the standby was cancelled.
const warned = "gsimc.unconfirmed"

// notice takes the messages of a server beside results. The name of the function in the server does
// not depend on its language.
func notice(c *pgconn.PgConn, n *pgconn.Notice) {
	if n.Routine == "SyncRepWaitForLSN" {
		c.CustomData()[warned] = true
	}
}

// confirmed returns errUnconfirmed if a commit since the last call was not confirmed.
func confirmed(c *pgconn.PgConn) error {
	if c.CustomData()[warned] == nil {
		return nil
	}
	delete(c.CustomData(), warned)
	return errUnconfirmed
}

// dialOnce lets a configuration connect, and not dial again for a request to cancel. The driver
// sends one when a connection is given up, which would end a wait for the standby, and so show a
// commit that is not confirmed. The connection breaks at the end of life.
func dialOnce(life context.Context, c *pgx.ConnConfig) {
	var connected atomic.Bool
	dialer := tcp.Dialer(deadPeer)
	c.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if connected.Load() {
			return nil, errors.New("requests to cancel are not sent")
		}
		conn, err := dialer.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return breaking{conn, context.AfterFunc(life, func() { _ = conn.Close() })}, nil
	}
	c.OnNotice = notice
	c.AfterConnect = func(context.Context, *pgconn.PgConn) error {
		connected.Store(true)
		return nil
	}
}

// breaking is a connection that is closed at the end of a context: the driver would wait for the
// server to answer, and one that waits for the standby does not.
type breaking struct {
	net.Conn
	forget func() bool
}

// Close closes the connection.
func (b breaking) Close() error {
	b.forget()
	return b.Conn.Close()
}
