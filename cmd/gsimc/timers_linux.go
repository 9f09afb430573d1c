package main

import (
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// timerSlack is how much later than asked the kernel may wake a thread of a server.
//
// A thread of the Go runtime looks every 20 µs whether others are stuck in system calls, which those of a server always seem to be. With
// the kernel's usual slack of 50 µs it wakes more than ten thousand times a second. That takes an eighth of the processor time of
// a server with one request in flight, and puts the search aside each time.
const timerSlack = time.Millisecond

// startedAnew is in the environment of a process that startWithSlack has started.
const startedAnew = "STARTED_WITH_TIMER_SLACK"

// startWithSlack starts this process anew, as the same process with the same arguments, for its threads to have the slack: a thread has
// that of the one that started it, and the runtime's is there before any code of ours. If something does not work, the process goes
// on as it is.
func startWithSlack() {
	if _, done := os.LookupEnv(startedAnew); done {
		_ = os.Unsetenv(startedAnew) // not for processes that this one starts
		return
	}
	runtime.LockOSThread() // whose slack it is
	defer runtime.UnlockOSThread()
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil || time.Duration(slack) >= timerSlack || unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(timerSlack), 0, 0, 0) != nil {
		return
	}
	_ = unix.Exec("/proc/self/exe", os.Args, append(os.Environ(), startedAnew+"=1"))
}
