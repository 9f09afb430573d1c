package faults

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/valkey"
)

// While the replicas of a primary hang, neither an event nor its repetition by another server is
// acknowledged, though the primary has it; and it is once they go on.
//
// WAIT is for the last write of its connection on Valkey and Redis 7.2, so a repetition that writes
// nothing fails this there. On Redis 7.0 it is for the last command.
func TestRepetitionsWaitForReplicas(t *testing.T) {
	n := healthy(t)
	namespace := enginetest.Namespace()
	user := n.users(namespace, "user", 1)[0][0]
	record := store.Record{User: user, Event: store.Event{ID: "event", Item: "item", Value: 1}}
	var servers [2]*valkey.Store // whose connections have written nothing of this
	for i := range servers {
		servers[i] = n.open(valkey.Options{Namespace: namespace, Replicas: 2})
	}
	n.await("the replicas have acknowledged all", func() error {
		return acknowledgedAll(n.shards[0].primary)
	})
	for _, r := range n.shards[0].replicas {
		r.Pause()
	}
	for _, s := range servers {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		results, err := s.Append(ctx, []store.Record{record})
		cancel()
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("with hanging replicas: %v, %v", results, err)
		}
	}
	head, _, err := servers[1].Since(t.Context(), user, store.Version{}, nil)
	if err != nil || head.Revision != 1 {
		t.Errorf("the primary has revision %d, %v, want the event", head.Revision, err)
	}
	n.heal()
	results, err := servers[1].Append(t.Context(), []store.Record{record})
	if err != nil || results[0].Err != nil || results[0].Version != head {
		t.Errorf("when they go on: %v, %v, want version %v", results, err, head)
	}
}

// acknowledgedAll returns nil if the replicas of a primary have acknowledged all that it has
// written.
func acknowledgedAll(primary *enginetest.RedisNode) error {
	info, err := primary.Do("INFO", "replication")
	if err != nil {
		return err
	}
	m := regexp.MustCompile(`master_repl_offset:(\d+)`).FindStringSubmatch(info)
	if m == nil || strings.Count(info, ",offset="+m[1]+",") != 2 {
		return fmt.Errorf("they have not:\n%s", info)
	}
	return nil
}
