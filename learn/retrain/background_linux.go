package retrain

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	backgroundNice = 10 // niceness of the child above that of this process
	maxNice        = 19 // the highest niceness
)

// runInBackground runs a command to its end, behind everything else. The command yields the
// processors, is the first process to be killed for lack of memory, and does not outlive this
// process.
//
// A process inherits the niceness of the thread that starts it, and the signal at the parent's
// death is tied to that thread. So one thread is made nice, waits for the end of the command, and
// is given up.
func runInBackground(cmd *exec.Cmd) error {
	done := make(chan error, 1)
	go func() {
		// Never unlocked: the thread ends with the goroutine.
		runtime.LockOSThread()
		priority, err := unix.Getpriority(unix.PRIO_PROCESS, 0) // 20 − niceness
		if err == nil {
			err = unix.Setpriority(unix.PRIO_PROCESS, 0, min(20-priority+backgroundNice, maxNice))
		}
		if err != nil {
			done <- fmt.Errorf("lowering the priority: %w", err)
			return
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			done <- err
			return
		}
		// Where this is not permitted, the kernel chooses by size alone.
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", cmd.Process.Pid), []byte("1000"), 0)
		done <- cmd.Wait()
	}()
	return <-done
}
