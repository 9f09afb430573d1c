//go:build !linux

package proctest

import "syscall"

// DyingWithParent is for Linux.
func DyingWithParent() *syscall.SysProcAttr { return nil }
