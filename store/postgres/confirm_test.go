package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
)

// Statements of the store that may wait for the standby. A connection that is being made does, and
// the store makes some in the background.
const (
	anyOne = "true"
	writes = "query NOT LIKE '%pg_logical_emit_message%'"
)

// waiting waits until one of these statements waits for the standby, and does something to its
// process.
func waiting(t *testing.T, p *enginetest.Postgres, these, do string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := check.Get(p.Primary.Connect(ctx, "postgres"))(t)
	defer c.Close(ctx)
	for n := 0; n == 0; {
		check.Must(t, c.QueryRow(ctx, "SELECT count("+do+") FROM pg_stat_activity "+
			"WHERE wait_event = 'SyncRep' AND application_name = 'gsimc' AND "+these).Scan(&n))
	}
}

func one(id string) []store.Record {
	return []store.Record{{User: "u", Event: store.Event{ID: id, Item: "i", Value: 1}}}
}

// revision asks for the revision of the user "u", at most for a while.
func revision(s store.Store, patience time.Duration) (uint64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	head, _, err := s.Since(ctx, "u", store.Version{}, nil)
	return head.Revision, err
}

// wantRevision checks that want is how many events the user "u" has.
func wantRevision(t *testing.T, s store.Store, when string, want uint64) {
	t.Helper()
	check.Same(t, want, check.Get(revision(s, time.Minute))(t), "%s: revision", when)
}

// appending appends an event of the user "u", and returns where its outcome comes.
func appending(ctx context.Context, s store.Store, id string) <-chan error {
	outcome := make(chan error, 1)
	go func() {
		_, err := s.Append(ctx, one(id))
		outcome <- err
	}()
	return outcome
}

// A crash shows commits that the standby has not confirmed. A store must not.
func TestUnconfirmedIsNotShown(t *testing.T) {
	t.Parallel()
	soak.Only(t)
	p := enginetest.NewPostgres(t, enginetest.PostgresConfig{Standby: true})
	s := openAt(t, p.URL("postgres"))
	defer closeAll(t, s)
	check.Get(s.Append(context.Background(), one("first")))(t)
	wantRevision(t, s, "to begin with", 1)
	p.Standby.Kill()
	ctx, cancel := context.WithCancel(context.Background())
	left := appending(ctx, s, "second")
	waiting(t, p, writes, "*")
	wantRevision(t, s, "while the standby is away", 1)
	p.Primary.StopImmediate()
	check.Must(t, p.Primary.Start())
	cancel()
	check.Fails(t, <-left, context.Canceled, "Append")
	if n, err := revision(s, 300*time.Millisecond); err == nil && n != 1 {
		t.Errorf("after the crash, without the standby: revision %d is shown", n)
	}
	check.Must(t, p.Standby.Start())
	wantRevision(t, s, "with the standby", 2)
}

// An administrator can cancel the wait for the standby. That is no acknowledgement.
func TestCancelledWaitIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	p := enginetest.NewPostgres(t, enginetest.PostgresConfig{Standby: true})
	s := openAt(t, p.URL("postgres"))
	defer closeAll(t, s)
	// The connection that is made here has waited for the standby, so that the writes below do it.
	check.Get(s.Erase(context.Background(), "nobody"))(t)
	for name, write := range map[string]func(context.Context) error{
		"Append": func(ctx context.Context) error {
			results, err := s.Append(ctx, one("first"))
			if err == nil && (results[0].Revision != 1 || results[0].Duplicate) {
				t.Errorf("Append: %+v", results)
			}
			return err
		},
		"PutItems": func(ctx context.Context) error {
			return s.PutItems(ctx, []store.Item{{ID: "i"}})
		},
	} {
		p.Standby.Kill()
		done := make(chan error, 1)
		go func() { done <- write(context.Background()) }()
		for range 3 {
			waiting(t, p, anyOne, "pg_cancel_backend(pid)")
		}
		select {
		case err := <-done:
			t.Errorf("%s was acknowledged without a standby: %v", name, err)
		default:
		}
		check.Must(t, p.Standby.Start())
		check.Pass(t, <-done, "%s", name)
	}
}

// A caller who leaves must not make the wait for the standby end.
func TestLeavingCancelsNothing(t *testing.T) {
	t.Parallel()
	p := enginetest.NewPostgres(t, enginetest.PostgresConfig{Standby: true})
	s := openAt(t, p.URL("postgres"))
	p.Standby.Kill()
	ctx, cancel := context.WithCancel(context.Background())
	left := appending(ctx, s, "first")
	waiting(t, p, anyOne, "*")
	cancel()
	check.Fails(t, <-left, context.Canceled, "Append")
	closeAll(t, s) // drops the connection
	waiting(t, p, anyOne, "*")
}

// An administrator who takes the standby out of the settings gets no acknowledgements.
func TestWithoutStandbyNothingIsWritten(t *testing.T) {
	t.Parallel()
	p := enginetest.NewPostgres(t, enginetest.PostgresConfig{Standby: true})
	s := openAt(t, p.URL("postgres"))
	defer closeAll(t, s)
	set := func(names string) {
		t.Helper()
		check.Must(t, p.Primary.Set("synchronous_standby_names", names))
	}
	set("")
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	check.Fails(t, check.Err(s.Append(ctx, one("first"))), store.ErrUnavailable, "Append")
	ctx, cancel = context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if _, err := s.Erase(ctx, "u"); err == nil {
		t.Error("Erase was acknowledged")
	}
	set("*")
	r := check.Get(s.Append(context.Background(), one("first")))(t)
	check.Same(t, uint64(1), r[0].Revision, "revision")
}

// A write that the standby has not confirmed may be there. So a refusal of the next attempt does
// not say that nothing was applied.
func TestRefusalAfterOpenAttempt(t *testing.T) {
	t.Parallel()
	p := enginetest.NewPostgres(t, enginetest.PostgresConfig{Standby: true})
	s := openAt(t, p.URL("postgres"))
	defer closeAll(t, s)
	confirm := func(body string) {
		t.Helper()
		err := p.Primary.SQL("SET synchronous_commit = local", "CREATE OR REPLACE FUNCTION "+
			"gsimc.confirm() RETURNS void LANGUAGE plpgsql AS $$ BEGIN "+body+" END $$")
		check.Must(t, err)
	}
	// The connection that is made here has waited for the standby, so that the writes below do it.
	check.Get(s.Append(context.Background(), one("before")))(t)
	p.Standby.Kill()
	done := appending(context.Background(), s, "first")
	waiting(t, p, writes, "*")
	confirm("RAISE EXCEPTION 'no room' USING ERRCODE = '53100';")
	waiting(t, p, writes, "pg_cancel_backend(pid)")
	check.Must(t, p.Standby.Start()) // without it a new connection would wait
	if err := <-done; !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrFull) {
		t.Errorf("%v, want ErrUnavailable alone", err)
	}
	_, err := s.Append(context.Background(), one("second"))
	check.Fails(t, err, store.ErrFull, "a first attempt")
	confirm("")
	wantRevision(t, s, "in the end", 2)
}
