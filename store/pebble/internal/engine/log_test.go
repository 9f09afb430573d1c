package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store/pebble/internal/smallfile"
)

// TestLogFile writes pieces to a log, on a disk that takes zeroes and on one that does not: the
// pieces must be there, followed by zeroes and nothing else.
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
			file := check.Get(fs.Create("log", vfs.WriteCategoryUnspecified))(t)
			log := newLogFile(vitalFile{File: file, e: &Engine{}}, "log")
			rng := rand.New(rand.NewPCG(1, 1))
			var want []byte
			for _, size := range []int{0, 1, 100, 32 << 10, maxAhead - 1, maxAhead, maxAhead + 1,
				2*maxAhead + 5, 3} {
				piece := make([]byte, size)
				for i := range piece {
					piece[i] = byte(rng.Uint32())
				}
				want = append(want, piece...)
				for range test.syncs {
					check.Must(t, log.SyncData())
				}
				check.MustSame(t, size, check.Get(log.Write(piece))(t), "written bytes")
				got := check.Get(smallfile.Read(disk, "log"))(t)
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

// TestReadingActiveLog opens a log while it is written: the zeroes ahead, and the bytes that take
// their place later, are not of the log as it was.
func TestReadingActiveLog(t *testing.T) {
	e := mustOpen(t, "store", testOptions(vfs.NewMem()))
	defer mustClose(t, e)
	fs := e.watched
	log := check.Get(fs.Create("1.log", vfs.WriteCategoryUnspecified))(t)
	write := func(piece string) {
		t.Helper()
		check.Get(log.Write([]byte(piece)))(t)
	}
	write("written before")
	reader := check.Get(fs.Open("1.log"))(t)
	write(", and after")
	check.Same(t, "written before", string(check.Get(io.ReadAll(reader))(t)), "an active log")
	check.Must(t, errors.Join(reader.Close(), log.Close()))
	got, err := smallfile.Read(fs, "1.log")
	if want := "written before, and after"; !strings.HasPrefix(string(got), want) ||
		len(bytes.Trim(got[len(want):], "\x00")) > 0 || err != nil {
		t.Errorf("a closed log reads %q, %v", got, err)
	}
}
