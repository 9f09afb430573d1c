package loadtest

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// preciseThread binds the calling goroutine to a thread of its own that the kernel wakes without the usual slack of 50 µs,
// and returns the function that undoes it.
func preciseThread() func() {
	runtime.LockOSThread()
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil || unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) != nil {
		return runtime.UnlockOSThread // less precise; what is late is measured
	}
	return func() {
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0)
		runtime.UnlockOSThread()
	}
}

// nap sleeps in the kernel. The timers of the Go runtime come up to a millisecond late when the process is idle.
func nap(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&t, nil) // interrupted: the caller looks at the clock
}
