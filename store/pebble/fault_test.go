package pebble

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
	"github.com/gsimc/gsimc/store/pebble/internal/smallfile"
	"github.com/gsimc/gsimc/store/storetest"
)

// TestEveryOperationFails lets the n-th operation on the file system fail, for every n of
// somePlaces: once, or from then on. Each run must end in answers or errors, not in a dead process
// or a call that hangs, and acknowledged events must be there when the store is opened on a good
// disk.
func TestEveryOperationFails(t *testing.T) {
	t.Parallel()
	soak.Native(t)
	for _, f := range []fault{
		{name: "once", err: syscall.EIO}, {name: "for ever", err: syscall.EIO, forever: true},
		{name: "disk full", err: syscall.ENOSPC, forever: true, writesOnly: true},
		{name: "short write", short: true}, {name: "slow", slow: 20 * time.Millisecond},
	} {
		t.Run(f.name, func(t *testing.T) {
			f.everywhere(t, func(f fault) bool {
				reached, err := f.run()
				check.Pass(t, err, "operation %d fails", f.at)
				return reached
			})
		})
	}
}

// everywhere calls run with the fault at one operation after the other, and before that with none.
// The function reports whether it got as far as the fault.
func (f fault) everywhere(t *testing.T, run func(fault) bool) {
	t.Helper()
	var mu sync.Mutex
	var kinds []string
	whole := f
	whole.at, whole.seen = math.MaxInt64, func(kind string) {
		mu.Lock()
		defer mu.Unlock()
		kinds = append(kinds, kind)
	}
	run(whole)
	mu.Lock()
	places := somePlaces(t, kinds)
	mu.Unlock()
	var wg sync.WaitGroup
	var next, runs atomic.Int64
	for range 24 { // the runs mostly wait
		wg.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(places) && !t.Failed(); i = next.Add(1) - 1 {
				f := f
				f.at = int64(places[i])
				if run(f) {
					runs.Add(1)
				}
			}
		})
	}
	wg.Wait()
	soak.Injected(t, int(runs.Load()), "failed operations of the file system")
}

// somePlaces returns the numbers of the operations that fail: all of them in make soak, else the
// first and the last of each kind, and one in four of the others.
func somePlaces(t *testing.T, kinds []string) (places []int) {
	t.Helper()
	last := map[string]int{}
	for i, kind := range kinds {
		last[kind] = i
	}
	first, one := map[string]bool{}, soak.OneIn(t, 4)
	for i, kind := range kinds {
		edge := !testing.Short() && (!first[kind] || last[kind] == i)
		first[kind] = true
		if chosen := one(); i == 0 || edge || chosen {
			places = append(places, i)
		}
	}
	return places
}

// fault is the fault of a run of TestEveryOperationFails.
type fault struct {
	name       string
	err        error
	at         int64 // number of the operation that fails
	forever    bool  // and all later ones
	writesOnly bool
	short      bool          // writes only: half of the bytes are written
	slow       time.Duration // the operation takes so long, and is done
	seen       func(string)  // unless nil, told the kind of each operation
}

// digits are what the names of files of one kind differ in.
var digits = regexp.MustCompile("[0-9]+")

// wrap returns the disk with the fault, and a function that reports whether the fault was met.
func (f fault) wrap(disk vfs.FS) (fs vfs.FS, reached func() bool) {
	var count atomic.Int64
	reached = func() bool { return count.Load() > f.at }
	if f.seen == nil {
		f.seen = func(string) {}
	}
	if f.short {
		return shortWrites{disk, func() bool { f.seen(""); return count.Add(1)-1 == f.at }}, reached
	}
	return errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if f.writesOnly && op.Kind.ReadOrWrite() == errorfs.OpIsRead {
			return nil
		}
		f.seen(fmt.Sprint(op.Kind, digits.ReplaceAllString(disk.PathBase(op.Path), "")))
		if i := count.Add(1) - 1; i == f.at || f.forever && i > f.at {
			time.Sleep(f.slow)
			return f.err
		}
		return nil
	})), reached
}

// outcomes are the possible states of a store after writes, some of them with an open outcome.
type outcomes []map[string][]string

// after returns the outcomes after a step that ended in the error.
func (o outcomes) after(st step, err error) (next outcomes) {
	definite := errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrCorrupt)
	for _, state := range o {
		if err != nil {
			next = append(next, state)
		}
		if !definite {
			next = append(next, st.model(state))
		}
	}
	return next
}

// check returns an error if the store is in none of the states. A write of an open outcome may be
// under way, so what is read must be the same twice.
func (o outcomes) check(s store.Store) error {
	got, err := tryDump(s)
	for len(o) > 1 {
		again, errAgain := tryDump(s)
		stands := cmp.Equal(got, again) && (err == nil) == (errAgain == nil)
		if got, err = again, errAgain; stands {
			break
		}
	}
	if err != nil {
		return err
	}
	same := func(state map[string][]string) bool { return cmp.Equal(state, got) }
	if !slices.ContainsFunc(o, same) {
		return fmt.Errorf("wrong answer: got %v, want one of %v", got, o)
	}
	return nil
}

// run runs the scenario with the fault and reports whether the run got as far as the fault.
func (f fault) run() (reached bool, err error) {
	disk := newDisk()
	fs, wasReached := f.wrap(disk)
	possible := outcomes{{}}
	s, err := openSoon("dir/store", Options{FS: fs, sortBytes: 900, sortBatch: 1})
	if err == nil {
		if possible, err = f.runScenario(s); err != nil {
			return false, err
		}
		closeErr := errHangs
		withDeadline(func() { closeErr = s.Close() })
		if closeErr == errHangs {
			return false, errHangs
		}
		err = s.engine.Err()
	}
	if reached = wasReached(); !reached && (err != nil || len(possible) != 1) {
		return false, fmt.Errorf("without a fault there were errors, at last %v", err)
	}
	// The process ends and the power stays on, or the power fails as well.
	for _, percent := range []int{100, 0} {
		if err := openAfter(powerCut(disk, percent), possible); err != nil {
			return reached, fmt.Errorf("after reopening with %d%% of the unsynced bytes: %w",
				percent, err)
		}
	}
	return reached, nil
}

// runScenario runs the scenario, whose steps may fail, and returns the states in which the store
// may be.
func (f fault) runScenario(s *Store) (outcomes, error) {
	possible := outcomes{{}}
	for i, st := range scenario {
		err := errHangs
		withDeadline(func() { err = st.do(s) })
		if err == errHangs {
			return nil, errHangs
		}
		possible = possible.after(st, err)
		if i == 4 {
			flushSoon(s)
		}
		if err := possible.check(s); err != nil && strings.Contains(err.Error(), "wrong answer") {
			return nil, fmt.Errorf("step %d: %w", i, err)
		}
	}
	return possible, nil
}

// openAfter opens a store on a good disk, checks its state, and uses it.
func openAfter(disk vfs.FS, possible outcomes) error {
	s, err := openSoon("dir/store", Options{FS: disk})
	if err != nil {
		return err
	}
	err = possible.check(s)
	for _, st := range scenario {
		if err == nil {
			err = st.do(s)
		}
	}
	return errors.Join(err, s.Close())
}

var errHangs = errors.New("the call hangs")

// withDeadline runs a call, or leaves it alone when it does not return. The time is that of a
// machine on which many others work.
func withDeadline(call func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		call()
	}()
	select {
	case <-done:
	case <-time.After(3 * time.Minute):
	}
}

// flushSoon begins to write the tables in memory to disk. To begin may take for ever when the log
// fails.
func flushSoon(s *Store) {
	sortNow(s)
	s.workers.Go(func() {
		// panics in a closed engine
		_ = engine.Safely(func() error { _, err := s.engine.DB.AsyncFlush(); return err })
	})
}

// TestLogOutOfSpace lets the log, and all other files but tables, run out of space in spite of the
// reserve, with a part of a record written or none of it. The write that meets it is answered as
// open and is there when there is room again, and the store takes others without a restart.
func TestLogOutOfSpace(t *testing.T) {
	t.Parallel()
	for _, shortage := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		for _, half := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v/half=%t", shortage, half), func(t *testing.T) {
				t.Parallel()
				disk := &fullDisk{FS: newDisk(), shortage: shortage, half: half}
				s := mustOpen(t, "store", Options{FS: disk, stallAfter: time.Nanosecond,
					Events: Events{Failed: func(err error) { t.Errorf("failed: %v", err) }}})
				mustAppend(t, s, "u", 0, 10)
				disk.full.Store(true)
				meetsFullDisk(t, s)
				if !half {
					flushSoon(s) // the next log and the list of tables find no room either
				}
				disk.full.Store(false)
				awaitAppend(t, s, []store.Record{{User: "u", Event: testEvent(11)}}, nil)
				want := dump(t, s)["u"]
				check.Same(t, 12, len(want), "events")
				// The power fails: what was acknowledged is on the disk, whole.
				crashed := disk.FS.(*memDisk).CrashClone(vfs.CrashCloneCfg{})
				wantThere(t, crashed, "store", map[string][]string{"u": want})
				mustClose(t, s)
			})
		}
	}
}

// meetsFullDisk writes the event after the tenth of a user, as the disk has no room for it.
func meetsFullDisk(t *testing.T, s *Store) {
	t.Helper()
	record := []store.Record{{User: "u", Event: testEvent(10)}}
	_, err := s.Append(t.Context(), record)
	if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrFull) {
		t.Errorf("the write that meets the full disk: %v, want ErrUnavailable, and not ErrFull, "+
			"which would be definite", err)
	}
	_, again := s.Append(t.Context(), record)
	_, erase := s.Erase(t.Context(), "u")
	stats, err := s.Stats(t.Context())
	for what, got := range map[string]error{"its repeat": again, "Erase": erase} {
		if !errors.Is(got, store.ErrUnavailable) || errors.Is(got, store.ErrFull) {
			t.Errorf("%s: got error %v, want ErrUnavailable", what, got)
		}
	}
	if !errors.Is(stats.Refusal, store.ErrFull) || err != nil {
		t.Errorf("Stats: refused by %v (%v), want ErrFull", stats.Refusal, err)
	}
	check.Same(t, 10, len(dump(t, s)["u"]), "durable events that are read on the full disk")
}

// TestCloseWithoutRoom closes a store whose log waits for room: it ends, and the next one has what
// was acknowledged.
func TestCloseWithoutRoom(t *testing.T) {
	t.Parallel()
	mem := newDisk()
	disk := &fullDisk{FS: mem, shortage: syscall.ENOSPC, half: true}
	s := mustOpen(t, "store", Options{FS: disk})
	mustAppend(t, s, "u", 0, 10)
	disk.full.Store(true)
	meetsFullDisk(t, s)
	if err := s.Close(); !errors.Is(err, store.ErrFailed) || !errors.Is(err, store.ErrFull) {
		t.Errorf("Close: got error %v, want ErrFailed and ErrFull", err)
	}
	s = mustOpen(t, "store", Options{FS: powerCut(mem, 100)})
	if got := len(dump(t, s)["u"]); got != 10 && got != 11 {
		t.Errorf("after opening again: %d events, want 10, or 11 with the open one", got)
	}
	mustAppend(t, s, "u", 0, 11)
	mustClose(t, s)
}

// TestCloseDuringCopy closes a store while a checkpoint waits for an engine whose list of tables
// finds no room.
func TestCloseDuringCopy(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind == errorfs.OpFileWrite && strings.Contains(op.Path, "MANIFEST") {
			return syscall.EDQUOT
		}
		return nil
	}))
	s := mustOpen(t, "store", Options{FS: fs})
	mustAppend(t, s, "u", 0, 10)
	full.Store(true)
	stuck := s.engine.Stuck()
	flushSoon(s)
	<-stuck
	copied := make(chan error, 1)
	go func() { _, err := s.Checkpoint(t.Context()); copied <- err }()
	select {
	case err := <-copied:
		t.Fatalf("the checkpoint does not wait: %v", err)
	case <-time.After(100 * time.Millisecond): // it waits, on all but the slowest machines
	}
	check.Fails(t, check.Return(t, "Close", s.Close), store.ErrFailed, "Close")
	if err := <-copied; !errors.Is(err, store.ErrFailed) && !errors.Is(err, store.ErrClosed) {
		t.Errorf("Checkpoint: got error %v, want ErrFailed", err)
	}
}

// TestShortagesPass lets the writing of tables meet a shortage that passes, while the log can still
// be written; and the next log, and with it the manifest and folders, find no file descriptor,
// which would be final to the engine. Writes are refused and resume by themselves.
func TestShortagesPass(t *testing.T) {
	t.Parallel()
	full := []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}
	descriptors := []syscall.Errno{syscall.EMFILE, syscall.ENFILE}
	for _, c := range []struct {
		of        string
		disk      func(disk vfs.FS, fails func() error) vfs.FS
		shortages []syscall.Errno
		refusal   error
	}{
		{"tables", withoutTables, append(full, descriptors...), store.ErrFull},
		{"files", withoutFiles, descriptors, store.ErrUnavailable},
	} {
		for _, shortage := range c.shortages {
			t.Run(c.of+"/"+shortage.Error(), func(t *testing.T) {
				t.Parallel()
				var short atomic.Bool
				s := mustOpen(t, "store", Options{FS: c.disk(vfs.NewMem(), func() error {
					if short.Load() {
						return shortage
					}
					return nil
				})})
				mustAppend(t, s, "u", 0, 10)
				settle(t, s)
				short.Store(true)
				flushSoon(s)
				passes(t, s, c.refusal, func() { short.Store(false) })
			})
		}
	}
}

// withoutFiles is a disk on which no file can be opened or made while fails returns an error.
func withoutFiles(disk vfs.FS, fails func() error) vfs.FS {
	return errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpCreate, errorfs.OpOpen, errorfs.OpOpenDir:
			return fails()
		}
		return nil
	}))
}

// passes checks that a store with ten events of a user refuses writes for lack of something, and
// takes them when it is over. It closes the store.
func passes(t *testing.T, s *Store, refusal error, over func()) {
	t.Helper()
	record := []store.Record{{User: "u", Event: testEvent(10)}}
	check.Within(t, time.Minute, "Append is refused", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err := s.Append(ctx, record) // one that is under way waits for the end of the shortage
		return errors.Is(err, refusal)
	})
	over()
	awaitAppend(t, s, record, nil)
	check.Same(t, 11, len(dump(t, s)["u"]), "events")
	mustClose(t, s)
}

// TestHangingDisk lets no sync end for a while: the store says so, is read on, and recovers.
func TestHangingDisk(t *testing.T) {
	t.Parallel()
	disk := newHungDisk()
	s := mustOpen(t, "store", Options{FS: disk, stallAfter: 50 * time.Millisecond})
	mustAppend(t, s, "u", 0, 10)
	refusal := func() error {
		t.Helper()
		return check.Get(s.Stats(t.Context()))(t).Refusal
	}
	time.Sleep(100 * time.Millisecond)
	check.Pass(t, refusal(), "while nothing is written")
	disk.hang()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	record := []store.Record{{User: "u", Event: testEvent(10)}}
	check.Fails(t, check.Err(s.Append(ctx, record)), context.DeadlineExceeded, "Append")
	check.Within(t, time.Minute, "the store says that the disk hangs",
		func() bool { return errors.Is(refusal(), store.ErrStalled) })
	if n, err := storetest.Revision(t.Context(), s, "u"); n < 10 || err != nil {
		t.Errorf("reading: %d, %v", n, err)
	}
	disk.goOn()
	awaitAppend(t, s, record, nil)
	check.Pass(t, refusal(), "when the disk answers")
	mustClose(t, s)
}

// awaitAppend repeats an Append until it ends in the wanted error.
func awaitAppend(t *testing.T, s store.Store, records []store.Record, want error) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		_, err := s.Append(ctx, records)
		cancel()
		if errors.Is(err, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("Append still gives error %v after 10 s, want %v", err, want)
		}
	}
}

// TestReserve takes the free space away and gives it back.
func TestReserve(t *testing.T) {
	t.Parallel()
	disk := vfs.NewMem()
	setFree(disk, 100<<20)
	s := mustOpen(t, "store", Options{FS: disk, ReserveBytes: 64 << 20})
	mustAppend(t, s, "u", 0, 10)
	setFree(disk, 63<<20)
	awaitAppend(t, s, []store.Record{{User: "t", Event: testEvent(0)}}, store.ErrFull)
	record := []store.Record{{User: "v", Event: testEvent(0)}}
	_, err := s.Append(context.Background(), record)
	check.Says(t, err, "63 MiB are free, 64 MiB are kept in reserve", "Append")
	wantRevision(t, s, "v", 0)
	_, err = s.Rewrite(context.Background(), []string{"u"},
		func(h [][]store.Event) [][]store.Event { return [][]store.Event{h[0][:5]} })
	check.Fails(t, err, store.ErrFull, "Rewrite on the full disk")
	wantErased(t, s, "u", 10)
	setFree(disk, 65<<20)
	awaitAppend(t, s, record, nil)
	mustClose(t, s)

	setFree(disk, 0)
	s = mustOpen(t, "store", Options{FS: disk, ReserveBytes: -1})
	mustAppend(t, s, "w", 0, 1) // without a reserve nothing is refused
	mustClose(t, s)
}

// TestSmallVolume opens stores, a new one and one with events, on a volume that can never have the
// reserve free.
func TestSmallVolume(t *testing.T) {
	t.Parallel()
	disk := vfs.NewMem()
	size := func(bytes uint64) {
		disk.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: bytes / 2, TotalBytes: bytes})
	}
	opts := Options{FS: disk, ReserveBytes: 100 << 20}
	for _, when := range []string{"new", "with events"} {
		size(90 << 20)
		_, opened := Open(t.Context(), "store", opts)
		size(2 << 20)
		_, waited := OpenOrWait(t.Context(), "store", opts)
		for _, err := range []error{opened, waited} {
			small, ok := errors.AsType[*SmallError](err)
			if !ok || small.Reserve != 100<<20 || !errors.Is(err, store.ErrFull) {
				t.Errorf("%s: got error %v, want one that the volume is too small", when, err)
			}
		}
		size(300 << 20)
		s := mustOpen(t, "store", opts)
		mustAppend(t, s, "u", 0, 10)
		mustClose(t, s)
	}
}

// TestDamagedFiles flips bits in and cuts pieces off each file of a closed store. Tables may be
// damaged without notice until they are needed: the store must not be opened then, or say
// ErrCorrupt, or answer right. Any other file must be noticed.
func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	soak.Native(t)
	disk, want := buildForDamage(t)
	rng := rand.New(rand.NewPCG(5, 6))
	data := disk.PathJoin("store", engine.DataName)
	names := check.Get(disk.List(data))(t)
	outcomes := map[string]int{}
	for _, name := range append(names, "../"+engine.SealName) {
		path := disk.PathJoin(data, name)
		content := check.Get(smallfile.Read(disk, path))(t)
		for i := range max(3, soak.Times(20)) {
			copied := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rng})
			what := name + " " + damage(t, copied, path, content, rng, i)
			outcome := damageOutcome(t, copied, what, want)
			isTable := strings.HasSuffix(name, ".sst")
			if !isTable && name != engine.LockName && outcome != "refused" {
				t.Errorf("%s: %s, want refused", what, outcome)
			}
			outcomes[fmt.Sprintf("table=%t: %s", isTable, outcome)]++
		}
	}
	t.Logf("outcomes: %v", outcomes)
	if outcomes["table=true: corrupt"] == 0 {
		t.Error("no damage of a table was noticed: the test damages nothing that is read")
	}
}

// damage changes a file, in a way that depends on i, and returns a description.
func damage(t *testing.T, fs vfs.FS, path string, content []byte, rng *rand.Rand, i int) string {
	if i == 0 || len(content) == 0 {
		check.Must(t, fs.Remove(path))
		// The seal is the exception: a store without a seal counts as one that was not closed.
		if strings.HasSuffix(path, engine.SealName) {
			writeFile(t, fs, path, nil)
			return "emptied"
		}
		return "removed"
	}
	damaged := slices.Clone(content)
	at := rng.IntN(len(damaged))
	if i%5 == 4 {
		writeFile(t, fs, path, damaged[:at])
		return fmt.Sprintf("cut at %d of %d", at, len(content))
	}
	damaged[at] ^= 1 << rng.IntN(8)
	writeFile(t, fs, path, damaged)
	return fmt.Sprintf("byte %d of %d flipped", at, len(content))
}

// TestSealCanBeRemoved opens a damaged store in spite of its damage: without its seal, and when the
// loss is accepted.
func TestSealCanBeRemoved(t *testing.T) {
	for _, accept := range []bool{false, true} {
		disk := vfs.NewMem()
		mustClose(t, mustOpen(t, "store", Options{FS: disk}))
		for _, path := range filesIn(t, disk, dataDir, "", ".log") {
			writeFile(t, disk, path, []byte("junk"))
		}
		_, err := openSoon("store", Options{FS: disk})
		changed, ok := errors.AsType[*SealError](err)
		if !ok || !errors.Is(err, store.ErrCorrupt) ||
			!strings.Contains(changed.Change, ".log has been changed or removed") {
			t.Errorf("Open: got error %v, want a SealError that names the log", err)
		}
		if !accept {
			check.Must(t, disk.Remove("store/"+engine.SealName))
		}
		mustClose(t, mustOpen(t, "store", Options{FS: disk, AcceptLoss: accept}))
		mustClose(t, mustOpen(t, "store", Options{FS: disk}))
	}
}

// secret is part of every id in TestDamagedFiles; no error may contain it.
const secret = "s3cr3t"

// buildForDamage returns a disk with a closed store of some tables, and its content.
func buildForDamage(t *testing.T) (*memDisk, map[string][]string) {
	disk := newDisk()
	s := mustOpen(t, "store", Options{FS: disk})
	for i := range 3 {
		for u := range 8 { // each damaged block is read by all of them
			mustAppend(t, s, fmt.Sprint(secret, u), 50*i, 50*i+50)
		}
		flush(t, s)
		if i == 1 {
			err := s.engine.DB.Compact(context.Background(), row.FirstUserKey, []byte{1}, false)
			check.Must(t, err)
		}
	}
	want := dump(t, s)
	mustClose(t, s)
	return disk, want
}

// damageOutcome uses a store with a damaged file and returns the outcome.
func damageOutcome(t *testing.T, disk vfs.FS, what string, want map[string][]string) string {
	s, err := openSoon("store", Options{FS: disk, CacheBytes: 1 << 20})
	if err != nil {
		check.Lacks(t, err.Error(), secret, "%s: the error of Open", what)
		return "refused"
	}
	defer s.Close()
	outcome := "no effect"
	check := func(err error) bool {
		if err != nil && (!errors.Is(err, store.ErrCorrupt) ||
			strings.Contains(err.Error(), secret)) {
			t.Errorf("%s: got error %v, want ErrCorrupt without ids", what, err)
		}
		if err != nil {
			outcome = "corrupt"
		}
		return err == nil
	}
	got, err := tryDump(s)
	if check(err) && !cmp.Equal(want, got) {
		t.Errorf("%s: wrong answers:\n%s", what, cmp.Diff(want, got))
	}
	for user, ids := range want {
		revision, err := storetest.Revision(context.Background(), s, user)
		if check(err) && revision != uint64(len(ids)) {
			t.Errorf("%s: revision %d, want %d", what, revision, len(ids))
		}
		results, err := s.Append(context.Background(),
			[]store.Record{{User: user, Event: testEvent(3)}})
		if err == nil {
			err = results[0].Err
		}
		if check(err) && (results[0].Revision != 4 || !results[0].Duplicate) {
			t.Errorf("%s: duplicate gives %v", what, results)
		}
	}
	if reason := s.engine.Err(); outcome == "no effect" && reason != nil {
		outcome = "noticed in the background"
	}
	return outcome
}

func writeFile(t *testing.T, fs vfs.FS, path string, content []byte) {
	t.Helper()
	check.Must(t, smallfile.Replace(fs, fs.PathDir(path), fs.PathBase(path), content))
}
