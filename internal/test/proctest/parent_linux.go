package proctest

import "syscall"

// DyingWithParent has the kernel end a process when the thread that started it ends.
func DyingWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
