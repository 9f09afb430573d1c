package store_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

func ExampleStore() {
	ctx := context.Background()
	var s store.Store = memory.New()
	defer s.Close()

	watched := store.Record{User: "ada", Event: store.Event{ID: "e1", Item: "metropolis",
		Type: "view", Time: time.Unix(0, 0), Value: 1}}
	for range 2 { // the second time as after a lost answer
		results, err := s.Append(ctx, []store.Record{watched})
		fmt.Println(results[0].Revision, results[0].Duplicate, err)
	}
	var known store.Version // of what was derived from the history so far: nothing
	head, same, _ := s.Since(ctx, "ada", known, func(v store.Version, e store.Event) error {
		fmt.Println(v.Revision, e.ID, e.Item)
		return nil
	})
	fmt.Println(head.Revision, same)
	// Output:
	// 1 false <nil>
	// 1 true <nil>
	// 1 e1 metropolis
	// 1 true
}

func TestValidate(t *testing.T) {
	long := strings.Repeat("x", store.MaxIDBytes+1)
	for _, test := range []struct {
		change func(*store.Record)
		want   string // "" for valid
	}{
		{func(*store.Record) {}, ""},
		{func(r *store.Record) { r.Event.Type = "" }, ""},
		{func(r *store.Record) { r.User = long[1:] }, ""},
		{func(r *store.Record) { r.Event.Value = math.Inf(-1) }, ""},
		{func(r *store.Record) { r.User = "" }, "the user id is empty"},
		{func(r *store.Record) { r.User = long }, "the user id has 257 bytes, want at most 256"},
		{func(r *store.Record) { r.Event.ID = "" }, "the event id is empty"},
		{func(r *store.Record) { r.Event.ID = long },
			"the event id has 257 bytes, want at most 256"},
		{func(r *store.Record) { r.Event.Item = "" }, "the item id is empty"},
		{func(r *store.Record) { r.Event.Item = long },
			"the item id has 257 bytes, want at most 256"},
		{func(r *store.Record) { r.Event.Type = long },
			"the event type has 257 bytes, want at most 256"},
		{func(r *store.Record) { r.Event.Value = math.NaN() }, "the value is not a number"},
	} {
		r := store.Record{User: "u", Event: store.Event{ID: "e", Item: "i", Type: "t", Value: 1}}
		test.change(&r)
		err := store.ValidateAll([]store.Record{{User: "v",
			Event: store.Event{ID: "e", Item: "i"}}, r})
		if test.want == "" {
			check.Pass(t, err, "%+v", r)
			continue
		}
		if want := "store: invalid record: " + test.want; err == nil ||
			err.Error() != "record 1: "+want || !errors.Is(err, store.ErrInvalid) {
			t.Errorf("got error %v, want ErrInvalid that says %q", err, want)
		}
	}
}

func TestConflictError(t *testing.T) {
	err := error(&store.ConflictError{Revision: 7})
	check.Same(t, "event id already used by revision 7 with another payload", err.Error(), "error")
	if !errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrInvalid) {
		t.Errorf("%v is not just ErrConflict", err)
	}
}

// TestShard fixes the shards, which processes of several versions may share: of 16.
func TestShard(t *testing.T) {
	for user, want := range map[string]int{"": 6, "a": 11, "ada": 9, "user-1": 5, "\x00\xff": 8} {
		check.Same(t, want, store.Shard(user, 16), "%q", user)
	}
}
