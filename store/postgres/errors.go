package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/gsimc/gsimc/store"
)

// patience is how long a call without a deadline is repeated while the server is away.
const patience = 30 * time.Second

// Times between two attempts.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// Codes of errors (SQLSTATE) with a meaning for the store.
const (
	codeNoStandby    = "GS001" // of gsimc.confirm
	codeBadPassword  = "28P01"
	codeDiskFull     = "53100"
	codeReadOnly     = "25006" // a server that has become a standby
	codeDeadlock     = "40P01"
	codeSerialise    = "40001"
	codeObjectInUse  = "55006"
	codeLockTimeout  = "55P03"
	codeQueryCancel  = "57014"
	codeDataCorrupt  = "XX001"
	codeIndexCorrupt = "XX002"
)

// explain makes an error of the contract of the store of one of the driver. Texts of the server are
// kept only where they cannot hold ids.
func explain(err error) error {
	if err == nil || known(err) {
		return err
	}
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err) // of the connection
	}
	switch pg.Code {
	case codeDiskFull:
		return fmt.Errorf("%w: the disk of the PostgreSQL server", store.ErrFull)
	case codeDataCorrupt, codeIndexCorrupt:
		return fmt.Errorf("%w: PostgreSQL says so (SQLSTATE %s)", store.ErrCorrupt, pg.Code)
	case codeNoStandby:
		return fmt.Errorf("%w: synchronous_standby_names has become empty, and nothing can be "+
			"promised: ALTER SYSTEM SET synchronous_standby_names", store.ErrUnavailable)
	case codeReadOnly, codeDeadlock, codeSerialise, codeObjectInUse, codeLockTimeout,
		codeQueryCancel:
		return fmt.Errorf("%w: PostgreSQL cannot do it now (SQLSTATE %s)", store.ErrUnavailable,
			pg.Code)
	}
	switch pg.Code[:min(len(pg.Code), 2)] {
	case "08", "53", "57": // connections, resources, administrators
		return fmt.Errorf("%w: %s (SQLSTATE %s)", store.ErrUnavailable, pg.Message, pg.Code)
	case "28": // who this is: a name, a password or a certificate
		return refusal(pg)
	case "3D", "3F", "42": // who may what, and what there is
		return &failure{fmt.Sprintf("PostgreSQL refuses: %s (SQLSTATE %s)", pg.Message, pg.Code)}
	}
	return &failure{fmt.Sprintf("PostgreSQL failed (SQLSTATE %s); its log tells more", pg.Code)}
}

// refusal is the error of a server that does not believe who this is.
func refusal(pg *pgconn.PgError) error {
	e := &store.RefusedError{What: "login", Answer: pg.Message + " (SQLSTATE " + pg.Code + ")",
		Remedy: "see to pg_hba.conf and the role, or to the files of sslcert and sslkey, which " +
			"each new connection reads"}
	if pg.Code == codeBadPassword {
		e.What, e.Remedy = "password", "put that of the role into the file of password-file or "+
			"PGPASSFILE, which each new connection reads; see docs/scale.md"
	}
	return e
}

// failure is an error that another attempt would not mend.
type failure struct{ text string }

func (f *failure) Error() string { return f.text }

// known reports whether an error is one of the store already.
func known(err error) bool {
	if _, is := errors.AsType[*failure](err); is {
		return true
	}
	for _, target := range []error{store.ErrUnavailable, store.ErrClosed, store.ErrInvalid,
		store.ErrFull, store.ErrCorrupt, store.ErrLeaseLost} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// A retry repeats attempts while the server is away.
type retry struct {
	closing <-chan struct{}
	until   time.Time
	pause   time.Duration
	open    bool // an attempt of a write may have been applied
}

func (s *Store) retry(ctx context.Context) *retry {
	until, limited := ctx.Deadline()
	if !limited {
		until = time.Now().Add(patience)
	}
	return &retry{closing: s.closing, until: until, pause: firstPause}
}

// again waits before the next attempt after err. Otherwise it returns why there is none.
func (r *retry) again(ctx context.Context, err error) error {
	err = explain(err)
	repeats := errors.Is(err, store.ErrUnavailable) && !time.Now().After(r.until)
	err = r.outcome(err)
	if ended := ctx.Err(); ended != nil {
		return fmt.Errorf("%w: %w", ended, err)
	}
	if !repeats {
		return err
	}
	wait := time.NewTimer(r.pause)
	defer wait.Stop()
	r.pause = min(2*r.pause, lastPause)
	select {
	case <-wait.C:
		return nil
	case <-r.closing:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
}

// outcome returns the error of the call after err, that of the last attempt: a refusal says nothing
// of the attempts before.
func (r *retry) outcome(err error) error {
	if err = explain(err); r.open && !errors.Is(err, store.ErrUnavailable) {
		return fmt.Errorf("%w: a write may have been applied before an error: %s",
			store.ErrUnavailable, err.Error())
	}
	return err
}
