package pebble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/gsimc/gsimc/store"
)

// TestLogFile writes pieces to a log, on a disk that takes zeroes and on one that does not: what was written must be there,
// followed by zeroes and nothing else.
func TestLogFile(t *testing.T) {
	for _, test := range []struct {
		syncs   int // between two pieces
		refused bool
	}{{syncs: 0}, {syncs: minSyncs}, {syncs: minSyncs, refused: true}} {
		t.Run(fmt.Sprintf("%+v", test), func(t *testing.T) {
			disk := vfs.NewMem()
			fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if test.refused && op.Kind == errorfs.OpFileWriteAt {
					return syscall.ENOSPC
				}
				return nil
			}))
			file, err := fs.Create("log", vfs.WriteCategoryUnspecified)
			if err != nil {
				t.Fatal(err)
			}
			log := newLogFile(vitalFile{File: file, s: &Store{}}, "log")
			rng := rand.New(rand.NewPCG(1, 1))
			var want []byte
			for _, size := range []int{0, 1, 100, 32 << 10, maxAhead - 1, maxAhead, maxAhead + 1, 2*maxAhead + 5, 3} {
				piece := make([]byte, size)
				for i := range piece {
					piece[i] = byte(rng.Uint32())
				}
				want = append(want, piece...)
				for range test.syncs {
					if err := log.SyncData(); err != nil {
						t.Fatal(err)
					}
				}
				if n, err := log.Write(piece); n != size || err != nil {
					t.Fatalf("Write of %d bytes: got %d, %v", size, n, err)
				}
				got, err := readAll(disk, "log")
				if err != nil {
					t.Fatal(err)
				}
				rest, ok := bytes.CutPrefix(got, want)
				if !ok || len(bytes.Trim(rest, "\x00")) > 0 {
					t.Fatalf("after %d bytes: the file does not hold these and zeroes", len(want))
				}
				wanted := len(want) > 0 && !test.refused && (len(want) < maxAhead || test.syncs > 0)
				if wanted != (len(rest) > 0) || len(rest) > min(len(want), maxAhead) {
					t.Errorf("after %d bytes: got %d zeroes", len(want), len(rest))
				}
			}
		})
	}
}

// TestReadingActiveLog opens a log while it is written: the zeroes ahead and what takes their place later are not of the log as
// it was.
func TestReadingActiveLog(t *testing.T) {
	s := mustOpen(t, "store", Options{FS: vfs.NewMem()})
	defer mustClose(t, s)
	fs := s.engineFS
	log, err := fs.Create("1.log", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	write := func(piece string) {
		t.Helper()
		if _, err := log.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	write("written before")
	reader, err := fs.Open("1.log")
	if err != nil {
		t.Fatal(err)
	}
	write(", and after")
	if got, err := io.ReadAll(reader); string(got) != "written before" || err != nil {
		t.Errorf("an active log reads %q, %v", got, err)
	}
	if err := errors.Join(reader.Close(), log.Close()); err != nil {
		t.Fatal(err)
	}
	got, err := readAll(fs, "1.log")
	if want := "written before, and after"; !strings.HasPrefix(string(got), want) || len(bytes.Trim(got[len(want):], "\x00")) > 0 || err != nil {
		t.Errorf("a closed log reads %q, %v", got, err)
	}
}

// TestCrashOfLongLog cuts the power when a log has been extended many times.
func TestCrashOfLongLog(t *testing.T) {
	disk := vfs.NewCrashableMem()
	s := mustOpen(t, "store", Options{FS: disk})
	rng := rand.New(rand.NewPCG(1, 2))
	item := strings.Repeat("i", store.MaxIDBytes)
	const calls, batch = 400, 50
	for call := range calls {
		var records []store.Record
		for i := range batch {
			e := store.Event{ID: fmt.Sprint(call, "-", i), Item: item, Value: 1}
			records = append(records, store.Record{User: fmt.Sprint("u", i), Event: e})
		}
		if _, err := s.Append(context.Background(), records); err != nil {
			t.Fatal(err)
		}
		if call < calls-1 && rng.IntN(calls/4) > 0 {
			continue // no crash here
		}
		after := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
		crashed := mustOpen(t, "store", Options{FS: after})
		for i := range batch {
			user := fmt.Sprint("u", i)
			if revision, err := crashed.Revision(context.Background(), user); err != nil || revision != uint64(call+1) {
				t.Errorf("after %d calls: %s is at revision %d, %v", call+1, user, revision, err)
			}
		}
		mustClose(t, crashed)
	}
	mustClose(t, s)
}
