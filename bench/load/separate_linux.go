package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// separate moves a server to one processor and this process to another, the first two on which this
// process may run, if there are two. The returned function moves this process back; the server
// stays where it is.
func separate(pid int) (free func(), err error) {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return nil, fmt.Errorf("processors of this process: %w", err)
	}
	if all.Count() < 2 {
		return func() {}, nil
	}
	two := firstTwo(&all)
	procs := runtime.GOMAXPROCS(1)
	free = func() {
		runtime.GOMAXPROCS(procs)
		_ = moveTo(os.Getpid(), &all) // it worked a moment ago
	}
	for id, processor := range map[int]int{pid: two[0], os.Getpid(): two[1]} {
		var one unix.CPUSet
		one.Set(processor)
		if err := moveTo(id, &one); err != nil {
			free()
			return nil, fmt.Errorf("move process %d to processor %d: %w", id, processor, err)
		}
	}
	return free, nil
}

// firstTwo are the first two processors of a set that has two. Those of a container need not be 0
// and 1.
func firstTwo(set *unix.CPUSet) (two [2]int) {
	for n, processor := 0, 0; n < len(two); processor++ {
		if set.IsSet(processor) {
			two[n] = processor
			n++
		}
	}
	return two
}

// moveTo moves all threads of a process. A thread that starts later inherits the processor.
func moveTo(pid int, to *unix.CPUSet) error {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return err
	}
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			return err
		}
		if err := unix.SchedSetaffinity(id, to); err != nil && err != unix.ESRCH { // it has ended
			return err
		}
	}
	return nil
}

// pause sleeps in the kernel: the runtime's timers are late in a process that is busy.
func pause(d time.Duration) {
	left := unix.NsecToTimespec(int64(d))
	for unix.Nanosleep(&left, &left) == unix.EINTR {
	}
}
