package admission

import (
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
)

// settle lets calls run as they do on a server that answers one in service and has processors that
// work side by side, with as many calls as the limit allows but at most demand, and returns the
// limit at the end.
func settle(l *limiter, service time.Duration, processors, demand, windows int) int {
	now := time.Unix(0, 0)
	if !l.since.IsZero() {
		now = l.since
	}
	for range windows {
		running := min(demand, l.get())
		l.started(running)
		took := service * time.Duration(max(running, processors)) / time.Duration(processors)
		for range samples {
			now = now.Add(window / (samples - 1))
			l.finished(now, 0, took)
		}
	}
	return l.get()
}

func TestLimiter(t *testing.T) {
	for _, test := range []struct {
		name            string
		service         time.Duration
		demand          int
		least, greatest int
	}{
		// 2 processors answer a call in 200 µs: 250 calls are 25 ms of work.
		{"fast calls in excess", 200 * time.Microsecond, 1000, 230, 270},
		{"slow calls in excess", 20 * time.Millisecond, 1000, 32, 32},
		{"calls below the limit", 200 * time.Microsecond, 10, initial, initial},
	} {
		l := newLimiter(32, 512)
		settle(&l, test.service, 2, 2, 5) // an idle server, to know its latency
		got := settle(&l, test.service, 2, test.demand, 200)
		if got < test.least || got > test.greatest {
			t.Errorf("%s: limit %d, want %d to %d", test.name, got, test.least, test.greatest)
		}
	}
}

// The limit falls within half a second of trouble, and comes back when the trouble is over.
func TestLimiterRecovers(t *testing.T) {
	l := newLimiter(32, 512)
	settle(&l, 100*time.Microsecond, 2, 2, 5)
	check.Same(t, 32, settle(&l, 50*time.Millisecond, 2, 1000, 5), "in trouble: limit")
	if got := settle(&l, 100*time.Microsecond, 2, 1000, 50); got < 80 {
		t.Errorf("after it: limit %d, want it to rise", got)
	}
}

// A latency that no limit can mend, such as a slow disk, is learned while few calls run.
func TestLimiterLearnsTheFloor(t *testing.T) {
	l := newLimiter(32, 512)
	settle(&l, time.Millisecond, 8, 8, 5)
	settle(&l, 20*time.Millisecond, 8, 8, 100)
	if l.floor < 15*time.Millisecond || l.floor > 21*time.Millisecond {
		t.Errorf("floor %v, want about 20 ms", l.floor)
	}
}

// A lack of processor time shows in messages that are late, and some slow senders do not look like
// it.
func TestLimiterSeesStarvation(t *testing.T) {
	for _, test := range []struct {
		name  string
		slow  int // of samples, each 80 ms late
		limit int
	}{{"slow senders", samples/2 - 1, 512}, {"starvation", samples, 32}} {
		l := newLimiter(32, 512)
		now := time.Unix(0, 0)
		for range 50 {
			l.started(1000)
			for i := range samples {
				came := 100 * time.Microsecond
				if i < test.slow {
					came = 80 * time.Millisecond
				}
				now = now.Add(window / (samples - 1))
				l.finished(now, came, time.Millisecond)
			}
		}
		check.Same(t, test.limit, l.get(), "%s: limit", test.name)
		if starved := l.slow(2 * slowAfter); starved == (test.slow == samples) {
			t.Errorf("%s: a message of %v is slow: %t", test.name, 2*slowAfter, starved)
		}
	}
}
