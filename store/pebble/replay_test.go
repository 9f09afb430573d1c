package pebble

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
	"github.com/gsimc/gsimc/store/storetest"
)

// TestLostRows removes the rows that come before the events in the journal. The damage must show,
// also when the journal has been sorted.
func TestLostRows(t *testing.T) {
	ctx := context.Background()
	disk := vfs.NewMem()
	s := mustOpen(t, "store", Options{FS: disk})
	mustAppend(t, s, "u", 0, 4)
	flush(t, s)
	mustAppend(t, s, "u", 4, 6)
	mustAppend(t, s, "v", 0, 1)
	check.Must(t, s.engine.DB.DeleteRange(row.HeadKey(nil, "u"), row.EndKey(nil, "u"),
		lsm.Sync))
	mustClose(t, s)
	r := check.Get(OpenReadOnly("store", Options{FS: disk}))(t)
	check.Fails(t, r.Each(ctx, func(string, uint64, store.Event) error { return nil }),
		store.ErrCorrupt, "Each")
	check.Must(t, r.Close())
	for _, when := range []string{"in the journal", "sorted"} {
		s = mustOpen(t, "store", Options{FS: disk})
		err := storetest.Read(ctx, s, "u", 0, func(uint64, store.Event) error { return nil })
		check.Fails(t, err, store.ErrCorrupt, "%s: Read", when)
		results, err := s.Append(ctx, []store.Record{{User: "u", Event: testEvent(9)}})
		if err != nil || !errors.Is(results[0].Err, store.ErrCorrupt) {
			t.Errorf("%s: Append: got %v, %v, want ErrCorrupt", when, results, err)
		}
		mustAppend(t, s, "v", 0, 2)
		flush(t, s)
		mustClose(t, s)
	}
}

// TestReadFaultsWhileOpening fails every read of a table, one after the other, while a store with a
// journal is opened. Either it is not opened, or nothing is lost later.
func TestReadFaultsWhileOpening(t *testing.T) {
	t.Parallel()
	soak.Native(t)
	opened, refused := 0, 0
	for at := int64(1); ; at++ {
		disk := newDisk()
		var reads atomic.Int64
		reads.Store(-1 << 40)
		fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind == errorfs.OpFileReadAt && strings.HasSuffix(op.Path, ".sst") &&
				reads.Add(1) == at {
				return errorfs.ErrInjected
			}
			return nil
		}))
		s := mustOpen(t, "store", Options{FS: disk})
		for u := range 5 {
			mustAppend(t, s, fmt.Sprint("u", u), 0, 100)
		}
		flush(t, s)
		for u := range 5 {
			mustAppend(t, s, fmt.Sprint("u", u), 100, 102)
		}
		want := dump(t, s)
		mustClose(t, s)

		reads.Store(0)
		s, err := openSoon("store", Options{FS: fs})
		if err == nil {
			opened++
			settle(t, s)
			_ = s.Close()
		} else {
			refused++
		}
		last := reads.Load() < at
		// A store that could not be opened may have left locks behind. A process would not.
		wantThere(t, powerCut(disk, 100), "store", want)
		if last {
			break
		}
	}
	soak.Injected(t, opened+refused, "failed reads")
	if refused == 0 {
		t.Error("no fault was noticed, so nothing was tested")
	}
}
