// Package clock converts times of this machine to those of another one, so that a write can carry
// the time from which on nobody waits for it: an engine that hung, or that got to the write late,
// must not do it then.
package clock

import "time"

// Age is the time after which a clock is read again. Until then the clocks of two machines drift
// apart by a millisecond or two, unless one of them is set.
const Age = 10 * time.Second

// Clock is what is known of the clock of another machine. The zero value knows nothing.
type Clock struct {
	said time.Time // the time of the machine
	read time.Time // when its answer was there
}

// Read returns the clock of a machine that has just answered with its time.
func Read(said time.Time) Clock { return Clock{said: said, read: time.Now()} }

// IsOld reports whether the clock is to be read.
func (k Clock) IsOld() bool { return time.Since(k.read) > Age }

// At converts a time of this machine. The result may be early, by the time of the round trip that
// read the clock, and is late only as far as the clocks have drifted apart since.
func (k Clock) At(t time.Time) time.Time { return k.said.Add(t.Sub(k.read)) }
