package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/internal/test/soak"
)

// A primary writes nothing to its file for up to two seconds while a sync of it hangs, and goes on
// to acknowledge what its replicas have. Killed then, it must not come back before one of them has
// been elected, for it would make them forget: restarted at once it loses acknowledged events, and
// restarted after the election none.
func TestRestartAfterSlowSync(t *testing.T) {
	kill := func(r *trial) *enginetest.RedisNode {
		p := r.shards[0].primary
		killNow := hangSyncs(r, p)
		time.Sleep(1800 * time.Millisecond) // less than the two seconds
		killNow()
		return p
	}
	if soak.Long() {
		atOnce := try(t, 0, durable, steady, func(r *trial) {
			check.Must(r, kill(r).Start())
		})
		t.Logf("restarted at once: %v", atOnce)
		if atOnce.Lost == 0 {
			t.Error("nothing was lost, so the other trials could not fail")
		}
	}
	times := min(5, soak.Times(1))
	for i := range times {
		later := try(t, i+1, durable, steady, func(r *trial) {
			p := kill(r)
			r.await("a replica is elected", func() error {
				if isPrimary(r.shards[0].replicas[0]) == nil {
					return nil
				}
				return isPrimary(r.shards[0].replicas[1])
			})
			check.Must(r, p.Start())
		})
		t.Logf("restarted after the election: %v", later)
		check.Pass(t, later.Err(), "the report")
	}
	soak.Injected(t, times, "kills of a primary whose syncs hang")
}

// Requests and options of ptrace and wait4 that package syscall does not have.
const (
	ptraceSeize     = 0x4206
	ptraceInterrupt = 0x4207
	waitAll         = 0x40000000 // __WALL
)

// hangSyncs stops the thread of a node that syncs its append-only file. kill ends the node; it has
// to be called, on the same goroutine.
func hangSyncs(r *trial, node *enginetest.RedisNode) (kill func()) {
	r.Helper()
	thread := 0
	names := check.Get(filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", node.PID())))(r)
	for _, path := range names {
		if name, err := os.ReadFile(path); err == nil && strings.HasPrefix(string(name),
			"bio_aof") {
			thread, _ = strconv.Atoi(filepath.Base(filepath.Dir(path)))
		}
	}
	if thread == 0 {
		r.load.Stop()
		r.Fatal("the node has no thread that syncs its file")
	}
	runtime.LockOSThread() // which traces the other one
	for _, request := range []uintptr{ptraceSeize, ptraceInterrupt} {
		if _, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, request, uintptr(thread), 0, 0, 0,
			0); errno != 0 {
			runtime.UnlockOSThread()
			r.load.Stop()
			r.Skipf("needs the right to trace processes: %v", errno)
		}
	}
	return func() {
		defer runtime.UnlockOSThread()
		_ = syscall.Kill(node.PID(), syscall.SIGKILL)
		for { // until the thread has ended; its end is told to the process that traces it
			var status syscall.WaitStatus
			_, err := syscall.Wait4(thread, &status, waitAll, nil)
			if err != nil && !errors.Is(err, syscall.EINTR) || status.Signaled() ||
				status.Exited() {
				break
			}
		}
		node.Kill()
	}
}
