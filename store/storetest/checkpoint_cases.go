package storetest

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/store"
)

// CheckpointReader returns all histories of a checkpoint of s.
type CheckpointReader func(s store.Checkpointer, dir string) (map[string][]store.Event, error)

// RunCheckpoints checks that the stores returned by open keep the rules of store.Checkpointer,
// besides those of Run. open is as for Run.
func RunCheckpoints(t *testing.T, open func(t testing.TB) store.Checkpointer,
	read CheckpointReader) {
	for _, c := range []struct {
		name, explanation string
		run               func(t *checkpointTester)
	}{
		{"apart", "a checkpoint holds what was there, stays as it is whatever happens to the " +
			"store, and is gone when it is removed", runApart},
		{"one-moment", "a checkpoint made while events arrive holds every acknowledged call and " +
			"no half of one", runOneMoment},
		{"closed", "after Close there are no more checkpoints", runCheckpointClosed},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			test(t, s, c.explanation, func(t *tester) { c.run(&checkpointTester{t, s, read}) })
		})
	}
}

type checkpointTester struct {
	*tester
	store store.Checkpointer
	read  CheckpointReader
}

func (t *checkpointTester) checkpoint() string {
	t.Helper()
	dir, err := t.store.Checkpoint(t.ctx)
	t.succeed(err)
	return dir
}

func (t *checkpointTester) wantCheckpoint(dir string, want map[string][]store.Event) {
	t.Helper()
	got, err := t.read(t.store, dir)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("reading a checkpoint: %v; it differs (-want +got):\n%s", err, diff)
	}
}

func runApart(t *checkpointTester) {
	empty := t.checkpoint()
	t.append(records("a", 0, 3)...)
	t.append(records("b", 0, 2)...)
	t.append(records("gone", 0, 2)...)
	t.erase("gone")
	first := t.checkpoint()
	t.append(records("a", 3, 5)...)
	t.append(records("c", 0, 1)...)
	t.erase("b")
	second := t.checkpoint()

	histories := func(lengths map[string]int) map[string][]store.Event {
		h := map[string][]store.Event{}
		for user, n := range lengths {
			for i := range n {
				h[user] = append(h[user], event(i))
			}
		}
		return h
	}
	t.wantCheckpoint(empty, histories(nil))
	t.wantCheckpoint(first, histories(map[string]int{"a": 3, "b": 2}))
	t.wantCheckpoint(second, histories(map[string]int{"a": 5, "c": 1}))
	t.wantHistory("b")
	t.wantUsers(map[string]uint64{"a": 5, "c": 1})

	t.succeed(t.store.RemoveCheckpoint(t.ctx, first))
	if h, err := t.read(t.store, first); err == nil {
		t.Errorf("a removed checkpoint can be read: %v", h)
	}
	for _, name := range []string{first, "", ".", "..", "/", "checkpoints", second + "/.."} {
		err := t.store.RemoveCheckpoint(t.ctx, name)
		t.fails(err, store.ErrInvalid, "RemoveCheckpoint of "+name)
	}
	t.wantCheckpoint(second, histories(map[string]int{"a": 5, "c": 1}))
	t.wantUsers(map[string]uint64{"a": 5, "c": 1})
}

// momentPairs are the users of the writers of runOneMoment, and momentCalls the number of calls of
// each writer.
var momentPairs = [][2]string{{"u", "v"}, {"x", "y"}}

// Each writer makes momentCalls calls, and goes on until a checkpoint was made amid them, up to
// momentLimit.
const (
	momentCalls = 1000
	momentLimit = 100 * momentCalls
)

// callCount says how many calls of each writer have begun and how many were acknowledged.
type callCount struct {
	mu           sync.Mutex
	acked, begun []int
	amid         atomic.Bool // a checkpoint was made amid the calls
}

func (c *callCount) read(of *[]int) []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(*of)
}

func (c *callCount) add(of *[]int, writer int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	(*of)[writer]++
}

// write has each writer append three events of the first of its users and one of the second in each
// call.
func (t *checkpointTester) write(count *callCount) *sync.WaitGroup {
	var writers sync.WaitGroup
	for w, pair := range momentPairs {
		writers.Go(func() {
			for i := 0; i < momentCalls || i < momentLimit && !count.amid.Load(); i++ {
				count.add(&count.begun, w)
				if _, err := t.Append(t.ctx,
					append(records(pair[0], 3*i, 3*i+3), records(pair[1], i, i+1)...)); err != nil {
					t.Errorf("Append: %v", err)
					return
				}
				count.add(&count.acked, w)
			}
		})
	}
	return &writers
}

// runOneMoment makes checkpoints while two writers append.
func runOneMoment(t *checkpointTester) {
	count := &callCount{acked: make([]int, len(momentPairs)), begun: make([]int, len(momentPairs))}
	writers := t.write(count)
	defer writers.Wait()
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for last := false; !last && !t.Failed(); {
		select {
		case <-done:
			last = true
		default:
		}
		least := count.read(&count.acked)
		dir := t.checkpoint()
		if t.wantMoment(dir, least, count.read(&count.begun)) > 0 {
			count.amid.Store(true)
		}
		t.succeed(t.store.RemoveCheckpoint(t.ctx, dir))
	}
	if !count.amid.Load() {
		t.Error("no checkpoint was made while events arrived, so nothing was tested")
	}
	for w, pair := range momentPairs {
		want := 3 * count.acked[w]
		if got := len(t.tester.read(pair[0], 0)); got != want && !t.Failed() {
			t.Errorf("%d events of %s in the end, want %d", got, pair[0], want)
		}
	}
}

// wantMoment checks that a checkpoint holds whole calls of each writer, from least to most of them,
// and returns the number of writers who were amid their calls.
func (t *checkpointTester) wantMoment(dir string, least, most []int) (amid int) {
	t.Helper()
	got, err := t.read(t.store, dir)
	t.succeed(err)
	for w, pair := range momentPairs {
		n := len(got[pair[1]])
		if n < least[w] || n > most[w] || len(got[pair[0]]) != 3*n {
			t.Errorf("a checkpoint holds %d events of %s and %d of %s; %d calls were acknowledged "+
				"before it and %d begun before its end",
				len(got[pair[0]]), pair[0], n, pair[1], least[w], most[w])
		}
		for i, e := range got[pair[0]] {
			if e != event(i) {
				t.Errorf("event %d of %s is %+v", i+1, pair[0], e)
			}
		}
		if n > 0 && least[w] < most[w] {
			amid++
		}
	}
	return amid
}

func runCheckpointClosed(t *checkpointTester) {
	dir := t.checkpoint()
	t.end()
	_, err := t.store.Checkpoint(t.ctx)
	t.allFail(store.ErrClosed, map[string]error{"Checkpoint": err,
		"RemoveCheckpoint": t.store.RemoveCheckpoint(t.ctx, dir)})
}
