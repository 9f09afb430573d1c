package pebble

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/gsimc/gsimc/store"
)

// TestRecordsStayTheCallers gives up calls while the disk hangs, and uses their records for something else: what was written
// is what was passed in, and the race detector sees nobody else at the records.
func TestRecordsStayTheCallers(t *testing.T) {
	var hold atomic.Bool
	release := make(chan struct{})
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if hold.Load() && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) {
			<-release
		}
		return nil
	}))
	s := mustOpen(t, "store", Options{FS: fs})
	hold.Store(true)
	var wg sync.WaitGroup
	var untouched atomic.Int64
	for caller := range 8 {
		wg.Go(func() {
			record := make([]store.Record, 1)
			for i := range 20 {
				ctx, cancel := context.WithCancel(context.Background())
				record[0] = store.Record{User: fmt.Sprint("user", caller), Event: testEvent(i)}
				go cancel()
				_, err := s.Append(ctx, record)
				if !errors.Is(err, context.Canceled) {
					t.Errorf("got error %v, want Canceled", err)
				}
				if err == context.Canceled { //nolint:errorlint // with the error alone nothing was applied
					untouched.Add(1)
				}
				record[0] = store.Record{User: "nobody", Event: store.Event{ID: "x", Item: "y"}}
			}
		})
	}
	wg.Wait()
	close(release)
	mustAppend(t, s, "last", 0, 1)
	applied := 0
	for user, ids := range dump(t, s) {
		if user == "nobody" {
			t.Error("what came into the records after the call was written")
		}
		applied += len(ids)
	}
	if applied-1 > 160-int(untouched.Load()) {
		t.Errorf("%d events were applied, but %d of 160 calls said that theirs was not", applied-1, untouched.Load())
	}
	mustClose(t, s)
}
