package pebble

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestTableFile writes pieces of many sizes to a table. After each way to sync it, all of them must be in the file.
func TestTableFile(t *testing.T) {
	disk := vfs.NewMem()
	file, err := disk.Create("table", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	table := &tableFile{File: file}
	ways := []func() error{table.Sync, table.SyncData, func() error { _, err := table.SyncTo(1); return err }}
	rng := rand.New(rand.NewPCG(1, 1))
	var want []byte
	for i, size := range []int{0, 1, 4096, tableBuffer - 4097, 1, tableBuffer - 1, tableBuffer, tableBuffer + 1, 5, 2 * tableBuffer, 7} {
		piece := make([]byte, size)
		for j := range piece {
			piece[j] = byte(rng.Uint32())
		}
		want = append(want, piece...)
		if n, err := table.Write(piece); n != size || err != nil {
			t.Fatalf("Write of %d bytes: got %d, %v", size, n, err)
		}
		clear(piece) // the engine uses its memory again
		if rng.IntN(2) > 0 {
			continue
		}
		if err := ways[i%len(ways)](); err != nil {
			t.Fatal(err)
		}
		if got, err := readAll(disk, "table"); err != nil || !bytes.Equal(want, got) {
			t.Errorf("after %d bytes: the file does not hold them, %v", len(want), err)
		}
	}
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := readAll(disk, "table"); err != nil || !bytes.Equal(want, got) {
		t.Errorf("closed, after %d bytes: the file does not hold them, %v", len(want), err)
	}
}

// TestTableFileFails lets the file system refuse what has been collected: whoever syncs or closes the table must learn of it.
func TestTableFileFails(t *testing.T) {
	var fail atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if fail.Load() && op.Kind == errorfs.OpFileWrite {
			return syscall.ENOSPC
		}
		return nil
	}))
	for name, end := range map[string]func(*tableFile) error{
		"Sync": (*tableFile).Sync, "SyncData": (*tableFile).SyncData, "Close": (*tableFile).Close,
		"SyncTo": func(f *tableFile) error { _, err := f.SyncTo(1); return err },
		"Write":  func(f *tableFile) error { _, err := f.Write(make([]byte, tableBuffer)); return err },
	} {
		fail.Store(false)
		file, err := fs.Create(name, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		table := &tableFile{File: file}
		if _, err := table.Write([]byte("some")); err != nil {
			t.Fatal(err)
		}
		fail.Store(true)
		if err := end(table); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: got error %v, want that of the file system", name, err)
		}
	}
}
