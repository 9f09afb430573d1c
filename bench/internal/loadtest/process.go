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

// A server works on a load of events after it has acknowledged them: it sorts them, above all, and
// samples live quality. The next measurement must not include that work, so it waits for the end of
// it.
const (
	settleLimit = 15 * time.Second
	settleLook  = 250 * time.Millisecond // between two readings of its processor time
	settleBusy  = settleLook / 25        // processor time between readings of an idle process
)

// Settle waits until a process of this machine is nearly idle, for 15 s at most.
func Settle(ctx context.Context, pid int) {
	limit := time.After(settleLimit)
	look := time.NewTicker(settleLook)
	defer look.Stop()
	for before := ProcessorTime(pid); ; {
		select {
		case <-ctx.Done():
			return
		case <-limit:
			return
		case <-look.C:
		}
		now := ProcessorTime(pid)
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

// ProcessorTime is the processor time that a process of this machine has used so far, in steps of
// 10 ms; 0 if the system does not tell.
func ProcessorTime(pid int) time.Duration {
	ticks := processNumbers(pid, "stat", 11, 2) // in its own code and in the kernel
	return time.Duration(ticks[0]+ticks[1]) * time.Second / ticksPerSecond
}

// ticksPerSecond is the unit of the times in /proc: 100 on every architecture that Go knows.
const ticksPerSecond = 100

// processNumbers returns n consecutive fields of a file of the process in /proc, zeros if the
// system does not tell. Fields are counted from the end of the program's name, if the file holds
// it.
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
