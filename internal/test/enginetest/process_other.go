//go:build !linux

package enginetest

import (
	"syscall"
	"time"
)

func dyingWithParent() *syscall.SysProcAttr { return nil }

func processorTime(int) time.Duration { return 0 }
