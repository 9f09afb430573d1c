package faults

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/internal/test/filetest"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/valkey"
)

// The bytes of erased users are in no file of any node once all nodes have rewritten theirs.
func TestErasedBytesLeaveAllNodes(t *testing.T) {
	soak.Only(t)
	n := healthy(t)
	namespace := enginetest.Namespace()
	s := n.open(valkey.Options{Namespace: namespace, Replicas: 2})
	canary := "canary-" + namespace // in the ids of users and events
	var users []string
	for _, group := range n.users(namespace, canary, 1) { // one of each shard
		users = append(users, group...)
	}
	var records []store.Record
	for _, user := range users {
		for i := range 50 {
			records = append(records, store.Record{User: user, Event: store.Event{
				ID: fmt.Sprint(canary, "-", i), Item: "item", Time: time.Unix(1, 0), Value: 1}})
		}
	}
	kept := store.Record{User: "kept-" + namespace,
		Event: store.Event{ID: "kept-" + namespace, Item: "item", Value: 1}}
	results := check.Get(s.Append(t.Context(), append(records, kept)))(t)
	for _, r := range results {
		check.Must(t, r.Err)
	}
	for _, user := range users {
		check.Get(s.Erase(t.Context(), user))(t)
	}
	for i, node := range n.Nodes {
		// A node postpones what it writes to the log, for up to two seconds, while the log is synced.
		n.await(fmt.Sprintf("node %d has the canary in its log", i), func() error {
			if len(filetest.With(t, n.folder(node), canary)) == 0 {
				return errors.New("it is in no file")
			}
			return nil
		})
	}
	for _, node := range n.Nodes {
		// A compressed file may have a text only in part.
		n.do(node, "CONFIG", "SET", "rdbcompression", "no")
		n.do(node, "BGREWRITEAOF")
	}
	for i, node := range n.Nodes {
		n.await(fmt.Sprintf("node %d has rewritten its files", i), func() error {
			info := n.do(node, "INFO", "persistence")
			for _, want := range []string{"aof_rewrite_in_progress:0", "aof_rewrite_scheduled:0",
				"aof_last_bgrewrite_status:ok"} {
				if !strings.Contains(info, want) {
					return fmt.Errorf("no %s", want)
				}
			}
			// Old files are removed in the background.
			if found := filetest.With(t, n.folder(node), canary); len(found) > 0 {
				return fmt.Errorf("the canary is in %v", found)
			}
			return nil
		})
	}
	found := 0
	for _, node := range n.Nodes {
		found += len(filetest.With(t, n.folder(node), kept.User))
	}
	if found < 3 {
		t.Errorf("a user who was not erased is in %d files, want those of three nodes", found)
	}
}

// folder returns the folder of a node's files.
func (n *nine) folder(node *enginetest.RedisNode) string {
	n.Helper()
	_, dir, _ := strings.Cut(n.do(node, "CONFIG", "GET", "dir"), "\n")
	if dir == "" {
		n.Fatal("a node does not say where its files are")
	}
	return dir
}
