package serve

import (
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// defaultTimerSlack is the default of --timer-slack.
//
// A thread of the Go runtime, the monitor, looks every 20 µs for threads that are stuck in system
// calls. In a server there always seem to be some. With the kernel's usual slack of 50 µs the
// monitor wakes more than 10,000 times a second. That costs an eighth of the processor time of a
// server with one request in flight, and interrupts the search each time.
const defaultTimerSlack = time.Millisecond

// startedAnew marks, in the environment, a process that startWithSlack has started.
const startedAnew = "STARTED_WITH_TIMER_SLACK"

// startWithSlack replaces this process by the same program with the same arguments, whose threads
// have the slack. A thread inherits the slack of the thread that started it, and the monitor of the
// runtime is started before any code of a program runs: only a new start reaches it. startWithSlack
// returns the slack that the threads have; 0: unknown. It returns in the new process, and where the
// slack cannot be changed.
func startWithSlack(slack time.Duration) time.Duration {
	_, done := os.LookupEnv(startedAnew)
	_ = os.Unsetenv(startedAnew) // not for processes that this one starts
	runtime.LockOSThread()       // whose slack it is
	defer runtime.UnlockOSThread()
	now, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		return 0
	}
	if done || slack <= time.Duration(now) ||
		unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0) != nil {
		return time.Duration(now)
	}
	_ = unix.Exec("/proc/self/exe", os.Args, append(os.Environ(), startedAnew+"=1"))
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(now), 0, 0, 0) // not started anew
	return time.Duration(now)
}
