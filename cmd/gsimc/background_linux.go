package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// backgroundNice is how much more than this process those of runInBackground yield; maxNice is the most there is.
const (
	backgroundNice = 10
	maxNice        = 19
)

// runInBackground runs a command to its end, behind everything else: it yields the processors, it is the first to be killed
// for lack of memory, and it does not outlive this process.
//
// Niceness is inherited from the thread that starts a process, and the signal at the parent's death is tied to that thread;
// so one thread is made nice, waits for the end, and is given up.
func runInBackground(cmd *exec.Cmd) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()                                  // and never unlocked: the thread ends with the goroutine
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
		// Without leave to do so, the kernel chooses by size alone.
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", cmd.Process.Pid), []byte("1000"), 0)
		done <- cmd.Wait()
	}()
	return <-done
}
