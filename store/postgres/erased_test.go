package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/internal/test/filetest"
	"github.com/gsimc/gsimc/store"
)

// canary is a part of all ids of the erased users.
const canary = "canary-3f9c1d"

// TestErasedBytes does what docs/scale.md says that an operator has to do to have the bytes of
// erased users leave the files of the primary and of the standby.
func TestErasedBytes(t *testing.T) {
	t.Parallel()
	p := enginetest.NewPostgres(t, enginetest.PostgresConfig{Standby: true, Settings: []string{
		"wal_recycle = off", "wal_keep_size = 0", "autovacuum = off"}})
	s := openAt(t, p.URL("postgres"))
	defer closeAll(t, s)
	ctx := context.Background()
	for u := range 20 {
		var records []store.Record
		for i := range 50 {
			records = append(records, store.Record{User: fmt.Sprint(canary, u),
				Event: store.Event{ID: fmt.Sprint(canary, i), Item: canary, Type: canary}},
				store.Record{User: fmt.Sprint("kept-", u),
					Event: store.Event{ID: fmt.Sprint(i), Item: "i"}})
		}
		check.Get(s.Append(ctx, records))(t)
	}
	for u := range 20 {
		n := check.Get(s.Erase(ctx, fmt.Sprint(canary, u)))(t)
		check.MustSame(t, uint64(50), n, "erased events")
	}
	check.Must(t, p.Primary.SQL("CHECKPOINT"))
	if len(filetest.With(t, p.Primary.Data, canary)) == 0 {
		t.Error("the test does not find bytes that are there")
	}
	var full []string
	for part := range 16 {
		full = append(full, fmt.Sprintf("VACUUM FULL gsimc.event_%d, gsimc.head_%[1]d", part))
	}
	check.Must(t, p.Primary.SQL(full...))
	// It takes two checkpoints to remove the log that the one before still needed, and those of the
	// standby are of what has come from the primary.
	files := []string{"all"}
	for end := time.Now().Add(time.Minute); len(files) > 0 && time.Now().Before(end); {
		check.Must(t, p.Primary.SQL("SELECT pg_switch_wal()", "CHECKPOINT"))
		check.Must(t, p.Standby.SQL("CHECKPOINT"))
		files = append(filetest.With(t, p.Primary.Data, canary), filetest.With(t, p.Standby.Data, canary)...)
	}
	if len(files) > 0 {
		t.Errorf("%d files still have bytes of erased users: %v", len(files), files)
	}
	if r, err := s.Append(ctx, []store.Record{{User: "kept-3", Event: store.Event{ID: "50",
		Item: "i"}}}); err != nil || r[0].Revision != 51 {
		t.Errorf("a user who was kept: %+v, %v", r, err)
	}
}
