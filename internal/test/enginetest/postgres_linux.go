package enginetest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// childProcesses returns the ids of the processes that a process has started.
func childProcesses(pid int) []int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	if err != nil {
		return nil
	}
	var ids []int
	for _, field := range strings.Fields(string(text)) {
		if id, err := strconv.Atoi(field); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
