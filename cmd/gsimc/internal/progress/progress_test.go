package progress

import (
	"bytes"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
)

func TestLines(t *testing.T) {
	var out bytes.Buffer
	clock := time.Unix(0, 0)
	p := &lines{out: &out, state: state{now: func() time.Time { return clock }}}

	p.Update(1, 2) // no stage yet
	p.Begin("reading", Bytes)
	p.Update(100, 1000) // too early for a line
	clock = clock.Add(5 * time.Second)
	p.Update(512, 2048)
	p.Update(600, 2048) // within the interval
	clock = clock.Add(5 * time.Second)
	p.Update(1536, 0)
	p.Begin("solving", Steps)
	clock = clock.Add(10 * time.Second)
	p.Update(50, 200)
	p.End()
	clock = clock.Add(time.Hour)
	p.Update(60, 200)

	clock = clock.Add(-time.Hour)
	p.Plan([]Stage{{"ranking", 10}, {"writing", 5}})
	p.Begin("ranking", Rows)
	clock = clock.Add(10 * time.Second)
	p.Update(0, 0)
	clock = clock.Add(5 * time.Second)
	p.Update(3, 4)
	p.End()

	want := "reading: 512 B of 2.0 KiB (25%), 5s\n" +
		"reading: 1.5 KiB, 10s\n" +
		"solving: 25%, 20s\n" +
		"ranking: 30s, about 7s left\n" +
		"ranking: 3 of 4 rows (75%), 35s, about 15s left\n"
	check.Same(t, want, out.String(), "lines")
}

// What is shown never goes back: neither when steps are repeated, nor when there are more of them
// than was thought.
func TestForward(t *testing.T) {
	var shown track
	for i, c := range []struct{ done, total, wantDone, wantTotal int64 }{
		{10, 100, 10, 100},
		{5, 100, 10, 100},    // overtaken
		{20, 100, 20, 100},   //
		{30, 200, 20, 100},   // more to do: 15 % after 20 %
		{50, 200, 50, 200},   //
		{300, 200, 200, 200}, // never more than there is
		{1, 0, 200, 200},     // less than before, of who knows what
		{250, -1, 250, 0},    //
		{251, 0, 251, 0},     //
	} {
		if done, total := shown.forward(c.done, c.total); done != c.wantDone ||
			total != c.wantTotal {
			t.Errorf("step %d: %d of %d is shown as %d of %d, want %d of %d",
				i, c.done, c.total, done, total, c.wantDone, c.wantTotal)
		}
	}
}

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n    int64
		unit Unit
		want string
	}{
		{0, Bytes, "0 B"}, {1023, Bytes, "1023 B"}, {1024, Bytes, "1.0 KiB"},
		{5 << 30, Bytes, "5.0 GiB"},
		{7 << 50, Bytes, "7168.0 TiB"}, {12345, Rows, "12345"},
	} {
		check.Same(t, c.want, count(c.n, c.unit), "count(%d, %s)", c.n, c.unit)
	}
}

func TestNew(t *testing.T) {
	file := check.Get(os.Create(t.TempDir() + "/log"))(t)
	defer file.Close()
	if _, ok := New(file, false).(*lines); !ok {
		t.Error("a file does not get lines")
	}
	if _, ok := New(file, true).(none); !ok {
		t.Error("quiet is not quiet")
	}
}

// Bars must survive any order of calls, from several goroutines, and leave the last stage on End.
func TestBars(t *testing.T) {
	var out bytes.Buffer
	p := &bars{out: &out, state: state{now: time.Now}}
	p.Update(1, 2)
	p.End()
	p.Begin("reading", Rows)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 100 {
				p.Update(int64(worker*i), 400)
			}
		})
	}
	wg.Wait()
	p.Update(500, 400) // more than the total
	p.Plan([]Stage{{"solving", 1}})
	p.Begin("solving", Bytes)
	p.Update(1, 0)
	time.Sleep(300 * time.Millisecond) // of a refresh
	p.End()
	for _, bad := range []string{"0 of 0", "0 / 0", "0.0 b"} {
		check.Lacks(t, out.String(), bad, "what is shown")
	}
	check.Has(t, out.String(), "solving", "the stage shown")
	if p.bar != nil || p.pool != nil {
		t.Error("a bar is left after End")
	}
}
