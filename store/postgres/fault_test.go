package postgres_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/storetest/load"
)

// A store survives what a fault test does with its servers, under a load of two processes.
func survive(
	t *testing.T, p *enginetest.Postgres, times int, kind string, keepUsers bool,
	fault func(i int) error,
) {
	t.Helper()
	url := p.URL("postgres")
	write, read := openAt(t, url), openAt(t, url)
	defer closeAll(t, write, read)
	var users []string
	for i := range 40 {
		users = append(users, fmt.Sprint("user-", i))
	}
	l := load.Start(write, read, load.Options{
		Groups:  []load.Group{{Users: users, Rest: time.Millisecond}},
		Readers: 3, KeepUsers: keepUsers, Timeout: 20 * time.Second, Seed: 1})
	var longest time.Duration
	var err error
	for i := 0; i < times && err == nil; i++ {
		if err = l.Await(300, time.Minute); err != nil {
			break
		}
		l.Gaps()
		err = errors.Join(fault(i), l.Await(1, time.Minute))
		longest = max(longest, l.Gaps()[0])
	}
	check.Pass(t, err, "the load beside the faults")
	l.Stop()
	soak.Injected(t, times, kind)
	report := l.Check(read, time.Minute)
	t.Logf("%v; longest time without an acknowledgement %v", report,
		longest.Round(time.Millisecond))
	check.Pass(t, report.Err(), "the report")
	// Without erasures nothing that was seen may vanish.
	if keepUsers && report.Foreign > 0 {
		t.Errorf("%d states were shown and vanished", report.Foreign)
	}
	if report.Acked < 300*times {
		t.Errorf("%d events were acknowledged", report.Acked)
	}
}

func closeAll(t *testing.T, all ...store.Store) {
	for _, s := range all {
		check.Pass(t, s.Close(), "Close")
	}
}

// TestPowerCuts ends the primary without a checkpoint and starts it again.
func TestPowerCuts(t *testing.T) {
	t.Parallel()
	p := enginetest.NewPostgres(t, enginetest.PostgresConfig{Standby: true})
	survive(t, p, soak.Times(2), "power cuts of a primary", true, func(int) error {
		p.Primary.StopImmediate()
		return p.Primary.Start()
	})
}

// TestFailovers kills the primary and lets the standby take over. The old primary becomes the
// standby.
func TestFailovers(t *testing.T) {
	t.Parallel()
	p := enginetest.NewPostgres(t, enginetest.PostgresConfig{Standby: true})
	survive(t, p, soak.Times(1), "failovers of a primary", true, func(int) error {
		p.Primary.Kill()
		if err := p.Promote(); err != nil {
			return err
		}
		return p.AddStandby()
	})
}

// TestFaultsBesideErasures cuts the power while users are erased and come back, and kills the
// standby for a while.
func TestFaultsBesideErasures(t *testing.T) {
	t.Parallel()
	p := enginetest.NewPostgres(t, enginetest.PostgresConfig{Standby: true})
	survive(t, p, soak.Times(2), "power cuts beside erasures", false, func(i int) error {
		if i%2 == 0 {
			p.Standby.Kill()
			return p.Standby.Start()
		}
		p.Primary.StopImmediate()
		return p.Primary.Start()
	})
}
