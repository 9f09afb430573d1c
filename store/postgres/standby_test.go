package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/store"
)

// While no standby is connected, the store says so, and writes are refused long before their
// deadline. It goes on when there is one.
func TestStandbyIsAway(t *testing.T) {
	t.Parallel()
	p := enginetest.NewPostgres(t, enginetest.PostgresConfig{Standby: true})
	s := openAt(t, p.URL("postgres"))
	defer closeAll(t, s)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	await := func(what string, holds func(degraded error) bool) {
		t.Helper()
		for {
			stats, err := s.Stats(ctx)
			if ctx.Err() != nil {
				t.Fatalf("waited until %s: %v, %v", what, stats.Degraded, err)
			}
			if err == nil && holds(stats.Degraded) {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	again := func() error {
		_, err := s.Append(ctx, one("first"))
		return err
	}
	await("all is well", func(degraded error) bool { return degraded == nil })
	p.Standby.Kill()
	await("the standby is missed", func(degraded error) bool {
		return degraded != nil && strings.Contains(degraded.Error(), "no standby that confirms")
	})
	short, end := context.WithTimeout(ctx, 100*time.Millisecond)
	defer end()
	_, err := s.Append(short, one("late"))
	if !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a write that nobody has confirmed: %v, want both why and that it is late", err)
	}
	for name, write := range map[string]func() error{
		"Append":   again,
		"PutItems": func() error { return s.PutItems(ctx, []store.Item{{ID: "i"}}) },
	} {
		refused := make(chan error, 200) // more than writes that wait
		await("writes of "+name+" are refused", func(error) bool {
			go func() { refused <- write() }()
			select {
			case err := <-refused:
				if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %v, want a refusal", name, err)
				}
				return true
			case <-time.After(time.Second):
				return false
			}
		})
	}
	check.Must(t, p.Standby.Start())
	await("the standby is back", func(degraded error) bool { return degraded == nil })
	check.Pass(t, again(), "with the standby")
}
