package main

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble"
)

// TestBackupAndRestore backs a server up while it takes events, kills it, restores the backup and
// serves from it: the events that were acknowledged before the backup are there.
func TestBackupAndRestore(t *testing.T) {
	_, modelFile := smallModel(t)
	m := check.Get(model.Open(modelFile))(t)
	client := newCrashClients(m)[0]
	check.Must(t, m.Close())
	tmp := t.TempDir()
	dir, backup, restored := filepath.Join(tmp, "state"), filepath.Join(tmp, "backup"),
		filepath.Join(tmp, "restored")
	p := startServe(t, modelFile, dir)
	refused(t, cli.ExitFailure, "--server", "backup", "--data-dir", dir, "--to", backup)

	var acked atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c := p.dial(t)
		defer c.Close()
		_ = client.send(context.Background(), c.Conn(), func(n int) { acked.Store(int64(n)) })
	}()
	await(t, "the server takes events", func() bool { return acked.Load() > 1000 })
	before := int(acked.Load())
	says(t, "backup", mustRun(t, "backup", "--data-dir", dir, "--to", backup, "--server", p.Admin),
		"users    ")
	awaitNoCheckpoint(t, dir)
	check.Must(t, p.Kill())
	<-ended

	checkRefusedBackup(t, backup)
	says(t, "restore", mustRun(t, "restore", "--from", backup, "--data-dir", restored),
		"Later events are gone")
	checkRestored(t, restored, client, before)
	startServe(t, modelFile, restored).mustStop(t)
	mustRun(t, "verify", "--data-dir", restored)
	refused(t, cli.ExitFailure, "--from: "+dir+" is no backup", "restore", "--from", dir,
		"--data-dir", filepath.Join(tmp, "none"))
}

// checkRefusedBackup changes a byte of a backup, and wants the file named and nothing restored.
func checkRefusedBackup(t *testing.T, backup string) {
	t.Helper()
	changed, to := filepath.Join(t.TempDir(), "changed"), filepath.Join(t.TempDir(), "to")
	check.Must(t, os.CopyFS(changed, os.DirFS(backup)))
	logs, err := filepath.Glob(filepath.Join(changed, "histories", "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("logs of the backup: %q, %v", logs, err)
	}
	flipByte(t, logs[0], 20)
	refused(t, cli.ExitFailure, filepath.Base(logs[0]), "restore", "--from", changed,
		"--data-dir", to)
	if _, err := os.Stat(to); err == nil {
		t.Error("something of a changed backup was restored")
	}
}

// checkRestored wants the events of a client in a store, up to one that was acknowledged at least.
func checkRestored(t *testing.T, dir string, client *crashClient, acked int) {
	t.Helper()
	r := check.Get(pebble.OpenReadOnly(dir, pebble.Options{}))(t)
	defer r.Close()
	got := map[string][]string{}
	events := 0
	check.Must(t, r.Each(t.Context(), func(user string, _ uint64, e store.Event) error {
		got[user] = append(got[user], e.ID)
		events++
		return nil
	}))
	if events < acked {
		t.Errorf("%d events, %d were acknowledged before the backup", events, acked)
	}
	for _, e := range client.events[:events] {
		ids := got[e.GetUserId()]
		if len(ids) == 0 || ids[0] != e.GetEventId() {
			t.Fatalf("event %s is not there, or not in its place", e.GetEventId())
		}
		got[e.GetUserId()] = ids[1:]
	}
}
