package valkey_test

import (
	"errors"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
)

// A history that is damaged is the fault of its records alone, and Each goes on without it.
func TestDamagedHistories(t *testing.T) {
	c, a, _ := pair(t)
	check.Get(c.Nodes[0].Do("SET", "{n:bad}h", "x"))(t)
	results, err := a.Append(t.Context(), []store.Record{record("bad", 1)})
	if err != nil || len(results) != 1 || !errors.Is(results[0].Err, store.ErrCorrupt) {
		t.Errorf("Append to a damaged history: %v, %v, want ErrCorrupt of the record", results, err)
	}
	mustAppend(t, a, "good", 1)
	var users []string
	err = a.Each(t.Context(), 0, 1, func(user string, _ store.Version) error {
		users = append(users, user)
		return nil
	})
	skipped, ok := errors.AsType[*store.SkippedError](err)
	if !ok || skipped.Users != 1 || len(users) != 1 || users[0] != "good" {
		t.Errorf("Each passes %q, %v, want the good one and one that is skipped", users, err)
	}
}
