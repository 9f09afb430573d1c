package mark

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/smallfile"
)

var first = Mark{ID: ID{1, 2, 3}, Commit: 7, Users: 3, At: time.Unix(1_700_000_000, 42).UTC()}

func mustWrite(t *testing.T, fs vfs.FS, dir string, m Mark) {
	t.Helper()
	check.Must(t, Write(fs, dir, m))
}

func TestReadsWhatWasWritten(t *testing.T) {
	dir := t.TempDir()
	if _, found, err := Read(vfs.Default, dir); found || err != nil {
		t.Errorf("without a file: %v, %v", found, err)
	}
	mustWrite(t, vfs.Default, dir, first)
	if m, found, err := Read(vfs.Default, dir); !found || err != nil || m != first {
		t.Errorf("got %+v, %v, %v, want %+v", m, found, err, first)
	}
	k := check.Get(Keep(vfs.Default, dir, time.Hour, func(err error) { t.Error(err) }))(t)
	for commit := range uint64(20) { // the last alone is written, at the end
		k.Durable(commit, int64(commit)/2)
	}
	check.Must(t, k.Close())
	m, _, err := Read(vfs.Default, dir)
	if m.Commit != 19 || m.Users != 9 || m.ID != first.ID || err != nil ||
		time.Since(m.At) > time.Hour {
		t.Errorf("got %+v, %v, want commit 19", m, err)
	}
}

// TestWithoutUsers reads slots of programs that know nothing of users, and the slot of one of them
// over that of this program.
func TestWithoutUsers(t *testing.T) {
	fs := vfs.NewMem()
	mustWrite(t, fs, "", first)
	want := first
	want.Users = -1
	old := content(t, fs)[:slotBytes]
	put(t, fs, bytes.Clone(old)) // the file system may use the memory for itself
	if m, found, err := Read(fs, ""); m != want || !found || err != nil {
		t.Errorf("an old slot alone: got %+v, %v, %v, want %+v", m, found, err, want)
	}
	other := want
	other.Commit, other.Users = 9, 5
	put(t, fs, append(bytes.Clone(old), other.encode(1)[slotBytes:]...))
	if m, found, err := Read(fs, ""); m != want || !found || err != nil {
		t.Errorf("an old slot over a new one: got %+v, %v, %v, want %+v", m, found, err, want)
	}
}

// TestTornWrites cuts each write of the mark off at each byte: the mark before or the new one must
// be there.
func TestTornWrites(t *testing.T) {
	soak.Native(t)
	fs := vfs.NewMem()
	mustWrite(t, fs, "", first)
	for commit := uint64(8); commit < 14; commit++ {
		before := content(t, fs)
		k := check.Get(Keep(fs, "", time.Hour, func(err error) { t.Error(err) }))(t)
		k.Durable(commit, int64(commit)/2)
		check.Must(t, k.Close())
		after := content(t, fs)
		for cut := range after {
			torn := vfs.NewMem()
			put(t, torn, append(slices.Clone(after[:cut]), before[cut:]...))
			m, found, err := Read(torn, "")
			if !found || err != nil || m.Commit != commit && m.Commit != commit-1 {
				t.Fatalf("commit %d cut at byte %d: got %+v, %v, %v", commit, cut, m, found, err)
			}
		}
	}
}

// TestDamage flips bits: in one slot the other one counts, in both the file is damaged. No mark may
// come out that was never written.
func TestDamage(t *testing.T) {
	fs := vfs.NewMem()
	mustWrite(t, fs, "", first)
	whole := content(t, fs)
	rng := rand.New(rand.NewPCG(1, 2))
	flip := func(b []byte, slot int) { b[slot*slotPlace+rng.IntN(slotBytes)] ^= 1 << rng.IntN(8) }
	for range 500 {
		one := slices.Clone(whole)
		flip(one, rng.IntN(2))
		put(t, fs, one)
		if m, found, err := Read(fs, ""); m != first || !found || err != nil {
			t.Fatalf("one slot: got %+v, %v, %v", m, found, err)
		}
		both := slices.Clone(whole)
		flip(both, 0)
		flip(both, 1)
		put(t, fs, both)
		if _, found, err := Read(fs, ""); found || !errors.Is(err, ErrDamaged) {
			t.Fatalf("both slots: got %v, %v, want ErrDamaged", found, err)
		}
		cut := slices.Clone(whole[:rng.IntN(slotBytes)]) // put may change it
		put(t, fs, cut)
		if _, found, err := Read(fs, ""); found || !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut at %d: got %v, %v, want ErrDamaged", len(cut), found, err)
		}
	}
}

// TestWritesGoOnAfterAFault lets writes fail for a while: it is told once, and the mark then
// catches up.
func TestWritesGoOnAfterAFault(t *testing.T) {
	var broken atomic.Bool
	mem := vfs.NewMem()
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return syscall.EIO
		}
		return nil
	}))
	mustWrite(t, fs, "", first)
	told := make(chan error, 100)
	k := check.Get(Keep(fs, "", 1, func(err error) { told <- err }))(t)
	broken.Store(true)
	commit := uint64(8)
	for ; commit < 50; commit++ {
		k.Durable(commit, int64(commit)/2)
		time.Sleep(time.Millisecond)
	}
	if err := <-told; !errors.Is(err, syscall.EIO) || len(told) > 0 {
		t.Errorf("told %v and %d more", err, len(told))
	}
	if m, _, err := Read(mem, ""); m != first || err != nil {
		t.Errorf("while writes fail: %+v, %v", m, err)
	}
	broken.Store(false)
	k.Durable(commit, int64(commit)/2)
	check.Must(t, k.Close())
	if m, _, err := Read(mem, ""); m.Commit != commit || err != nil {
		t.Errorf("afterwards: %+v, %v, want commit %d", m, err, commit)
	}
}

func TestCheck(t *testing.T) {
	check.Pass(t, first.Check(first.ID, 7), "Check")
	check.Pass(t, first.Check(first.ID, 8), "the mark is behind")
	for _, c := range []struct {
		id     ID
		commit uint64
		want   LossError
	}{
		{first.ID, 4, LossError{Behind, first, first.ID, 4, 3}},
		{ID{9}, 7, LossError{Foreign, first, ID{9}, 7, 0}},
		{ID{}, 9, LossError{Foreign, first, ID{}, 9, 0}},
	} {
		err := first.Check(c.id, c.commit)
		loss, _ := errors.AsType[*LossError](err)
		if loss == nil || *loss != c.want || !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("Check(%v, %d) = %v, want %v", c.id, c.commit, err, &c.want)
		}
	}
}

func content(t *testing.T, fs vfs.FS) []byte {
	t.Helper()
	return check.Get(smallfile.Read(fs, Name))(t)
}

func put(t *testing.T, fs vfs.FS, b []byte) {
	t.Helper()
	check.Must(t, smallfile.Replace(fs, "", Name, b))
}

// TestHangingWrite lets a write of the mark hang while commits go on: they do not pile up behind it.
func TestHangingWrite(t *testing.T) {
	hang, hangs := make(chan struct{}), make(chan struct{}, 1)
	mem := vfs.NewMem()
	mustWrite(t, mem, "", first)
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileWriteAt {
			select {
			case hangs <- struct{}{}:
			default:
			}
			<-hang
		}
		return nil
	}))
	k := check.Get(Keep(fs, "", time.Microsecond, func(err error) { t.Error(err) }))(t)
	k.Durable(8, 4)
	<-hangs
	before := runtime.NumGoroutine()
	last := uint64(8)
	for range 50 {
		last++
		k.Durable(last, int64(last)/2)
		time.Sleep(time.Millisecond)
	}
	if more := runtime.NumGoroutine() - before; more > 5 {
		t.Errorf("%d goroutines wait for the write", more)
	}
	close(hang)
	check.Must(t, k.Close())
	if m, _, err := Read(mem, ""); m.Commit != last || err != nil {
		t.Errorf("got %+v, %v, want commit %d", m, err, last)
	}
}
