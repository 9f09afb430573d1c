package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if !(Clock{}).IsOld() {
			t.Error("a clock that nobody read is not old")
		}
		for _, ahead := range []time.Duration{time.Hour, 0, -time.Hour} {
			theirs := Read(time.Now().Add(ahead))
			time.Sleep(Age)
			if in := time.Until(theirs.At(time.Now())); in != ahead || theirs.IsOld() {
				t.Errorf("a clock %v ahead is %v ahead, old: %t", ahead, in, theirs.IsOld())
			}
			time.Sleep(time.Nanosecond)
			if !theirs.IsOld() {
				t.Errorf("a clock is not old after %v", Age)
			}
		}
	})
}
