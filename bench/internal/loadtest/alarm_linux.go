package loadtest

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// alarm is a timer of the kernel. The program waits for it through the network poller, as for a
// connection. The timers of the Go runtime come up to a millisecond late when the process is idle.
// A thread that sleeps in a system call is precise, but loses its processor to another and must
// find one when it wakes, which costs about as much as a request does.
type alarm struct {
	fd   int
	file *os.File // nil: there are no such timers here
}

func newAlarm() *alarm {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return &alarm{}
	}
	return &alarm{fd: fd, file: os.NewFile(uintptr(fd), "timerfd")}
}

func (a *alarm) close() { _ = a.file.Close() } // a nil file only returns an error

// sleep returns when d, which is positive, has passed. Without a timer it is less precise; the
// delay of each request is measured.
func (a *alarm) sleep(d time.Duration) {
	if a.file == nil ||
		unix.TimerfdSettime(a.fd, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))},
			nil) != nil {
		time.Sleep(d)
		return
	}
	var expirations [8]byte
	_, _ = a.file.Read(expirations[:]) // after a failure the caller looks at the clock
}
