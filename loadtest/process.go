package loadtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// What a server does with a load of events after it has acknowledged them, sorting above all and
// the sampling of live quality, is not part of what is measured next. It gets this long.
const (
	settleLimit = 15 * time.Second
	settleLook  = 250 * time.Millisecond // between two looks at how busy it is
	settleBusy  = settleLook / 25        // processor time between them that is little enough
)

// Settle waits until a process of this machine has next to nothing to do, for 15 s at most.
func Settle(ctx context.Context, pid int) {
	limit := time.After(settleLimit)
	look := time.NewTicker(settleLook)
	defer look.Stop()
	for before := processorTime(pid); ; {
		select {
		case <-ctx.Done():
			return
		case <-limit:
			return
		case <-look.C:
		}
		now := processorTime(pid)
		if now-before <= settleBusy {
			return
		}
		before = now
	}
}

// ResidentBytes is the resident memory of a process; 0 if the system does not tell.
func ResidentBytes(pid int) int64 {
	return processNumbers(pid, "statm", 1, 1)[0] * int64(os.Getpagesize())
}

// processorTime is what a process has used so far; 0 if the system does not tell.
func processorTime(pid int) time.Duration {
	ticks := processNumbers(pid, "stat", 11, 2) // in its own code and in the kernel
	return time.Duration(ticks[0]+ticks[1]) * time.Second / ticksPerSecond
}

// ticksPerSecond is the unit of the times in /proc: 100 on every architecture that Go knows.
const ticksPerSecond = 100

// processNumbers are n fields of a file of the process in /proc, from one on and counted behind the
// name of the program, if that is there; zeros if the system does not tell.
func processNumbers(pid int, file string, from, n int) []int64 {
	numbers := make([]int64, n)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return numbers
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	for i := range numbers {
		if from+i < len(fields) {
			numbers[i], _ = strconv.ParseInt(fields[from+i], 10, 64)
		}
	}
	return numbers
}
