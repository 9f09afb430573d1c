//go:build linux

package pebble

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/storetest"
)

// TestStartOnFullDisk fills a real disk while a store is open, and starts again in another process,
// which is this test program, as a server does that was stopped.
func TestStartOnFullDisk(t *testing.T) {
	const variable = "GSIMC_TEST_FULL_DISK"
	if dir := os.Getenv(variable); dir != "" {
		began := time.Now()
		_, err := Open(context.Background(), dir, Options{})
		fmt.Printf("\nfull=%v took=%v: %v\n", errors.Is(err, store.ErrFull), time.Since(began), err)
		return
	}
	disk := mountSmallDisk(t, 420<<20)
	dir := filepath.Join(disk, "store")
	s := mustOpen(t, dir, Options{ReserveBytes: 1 << 20})
	const users = 300
	for u := range users {
		mustAppend(t, s, fmt.Sprint("user-", u), 0, 1000)
	}
	filler := filepath.Join(disk, "filler")
	fill(t, filler)
	mustClose(t, s)

	out, took := runAgain(t, "TestStartOnFullDisk", variable+"="+dir)
	t.Logf("took %v: %s", took, out)
	if !strings.Contains(out, "full=true") || !strings.Contains(out, "MiB more on the disk of") {
		t.Errorf("starting on a full disk: got %s, want ErrFull that says how much space is "+
			"missing", out)
	}
	if took > openingLimit {
		t.Errorf("starting on a full disk took %v, want at most %v", took, openingLimit)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, dir, Options{})
	defer mustClose(t, s)
	for u := range users {
		if r, err := storetest.Revision(context.Background(), s, fmt.Sprint("user-", u)); r != 1000 ||
			err != nil {
			t.Fatalf("after space was freed: user %d has revision %d, %v", u, r, err)
		}
	}
}

// TestStartReadsOnFullDisk is [TestReadsOnFullDisk] on a real disk.
func TestStartReadsOnFullDisk(t *testing.T) {
	disk := mountSmallDisk(t, 420<<20)
	dir := filepath.Join(disk, "store")
	s := mustOpen(t, dir, Options{ReserveBytes: 1 << 20})
	const users = 100
	for u := range users {
		mustAppend(t, s, fmt.Sprint("user-", u), 0, 1000)
	}
	filler := filepath.Join(disk, "filler")
	fill(t, filler)
	mustClose(t, s)

	began := time.Now()
	full, err := OpenOrWait(t.Context(), dir, Options{ReserveBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, full)
	if took := time.Since(began); took > openingLimit {
		t.Errorf("starting on a full disk took %v, want at most %v", took, openingLimit)
	}
	check := func(when string) {
		t.Helper()
		for u := range users {
			r, err := storetest.Revision(t.Context(), full, fmt.Sprint("user-", u))
			if r != 1000 || err != nil {
				t.Fatalf("%s: user %d has revision %d, %v", when, u, r, err)
			}
		}
	}
	check("full")
	record := []store.Record{{User: "u", Event: testEvent(0)}}
	if _, err := full.Append(t.Context(), record); !errors.Is(err, store.ErrFull) {
		t.Errorf("Append: got error %v, want ErrFull", err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	awaitAppend(t, full, record, nil)
	check("with room")
}

// mountSmallDisk returns a folder on a disk of its own in memory. It skips the test if this process
// may not mount one.
func mountSmallDisk(t *testing.T, bytes int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprint("size=", bytes)); err != nil {
		t.Skipf("needs the right to mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmounting: %v", err)
		}
	})
	return dir
}

// fill writes a file until the disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for piece := make([]byte, 1<<20); err == nil; {
		_, err = f.Write(piece)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("filling the disk: %v", err)
	}
}

// runAgain runs a test of this program in another process and returns its output.
func runAgain(t *testing.T, test, variable string) (output string, took time.Duration) {
	t.Helper()
	again := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.timeout=60s")
	again.Env = append(os.Environ(), variable)
	began := time.Now()
	out, err := again.CombinedOutput()
	if err != nil {
		t.Errorf("the other process: %v", err)
	}
	return string(out), time.Since(began)
}
