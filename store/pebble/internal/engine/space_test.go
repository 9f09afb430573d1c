package engine

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"testing"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/internal/test/check"
)

// TestBytes compares the space of an engine with that which the system counts, with logs that are
// reserved and with a copy that shares its tables.
func TestBytes(t *testing.T) {
	dir := t.TempDir()
	e := mustOpen(t, dir, testOptions(vfs.Default))
	defer mustClose(t, e)
	// The engine removes files in the background, so the two may differ for a while.
	compare := func(when string) (bytes int64) {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			got := check.Get(e.Bytes(t.Context()))(t)
			want := diskUsage(t, dir)
			if got <= want && got >= want-directoryBytes {
				return got
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: got %d bytes, du counts %d", when, got, want)
			}
		}
	}
	empty := compare("new")
	for i := range 40 {
		value := bytes.Repeat([]byte{byte(i)}, 100_000)
		check.Must(t, e.DB.Set(fmt.Append(nil, i), value, lsm.Sync))
	}
	check.Must(t, e.DB.Flush())
	full := compare("flushed")
	if metrics := int64(e.DB.Metrics().DiskSpaceUsage()); full < metrics {
		t.Errorf("got %d bytes, of which the engine knows %d", full, metrics)
	}
	t.Logf("new: %d bytes, with 4 MB in tables: %d", empty, full)
	name := check.Get(e.Copy())(t)
	compare("copied")
	check.Same(t, true, check.Get(e.RemoveCopy(name))(t), "the copy is found")
	compare("copy removed")
}

// directoryBytes is more than the space of the directories, which Bytes does not count.
const directoryBytes = 5 * 64 << 10

func diskUsage(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	out, err := exec.Command("du", "-s", "--block-size=1", dir).Output()
	if err != nil {
		t.Skipf("needs du to count: %v", err)
	}
	check.Get(fmt.Sscan(string(out), &bytes))(t)
	return bytes
}

// A probe on a disk that does not answer gets the last figure within its time, and probes do not
// pile up goroutines.
func TestBytesOfAHangingDisk(t *testing.T) {
	e := &Engine{}
	e.size.last.Store(42)
	hang := make(chan struct{})
	counts := 0
	first := e.size.measure(func() (int64, error) { counts++; <-hang; return 43, nil })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 3 {
		check.Same(t, int64(42), check.Get(e.Bytes(ctx))(t), "the last figure")
	}
	close(hang)
	<-first.done
	if counts != 1 || e.size.last.Load() != 43 {
		t.Errorf("%d measurements, the last figure is %d; want 1 and 43", counts, e.size.last.Load())
	}
}
