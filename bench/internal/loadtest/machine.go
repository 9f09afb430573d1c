package loadtest

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine describes the machine of a measurement. A field that the system does not tell is empty.
type Machine struct {
	CPU     string `json:"cpu"`     // name of the processor
	Cores   int    `json:"cores"`   // number that this process may use
	Memory  string `json:"memory"`  // of the machine
	Kernel  string `json:"kernel"`  // release of the operating system
	Go      string `json:"go"`      // version of the compiler
	Arch    string `json:"arch"`    // such as linux/amd64
	Commit  string `json:"commit"`  // version of this program
	Kernels string `json:"kernels"` // instruction set of the numerical kernels
	// Load holds the load averages when the run began: above 0, other programs ran too.
	Load string `json:"load,omitempty"`
}

// ThisMachine describes the machine that it runs on, for a program of this version that uses these
// numerical kernels.
func ThisMachine(commit, kernels string) Machine {
	m := Machine{
		CPU: procField("/proc/cpuinfo", "model name"), Cores: runtime.GOMAXPROCS(0),
		Kernel: firstWords("/proc/sys/kernel/osrelease", 1),
		Go:     runtime.Version(), Arch: runtime.GOOS + "/" + runtime.GOARCH, Commit: commit,
		Kernels: kernels,
		Load:    firstWords("/proc/loadavg", 3),
	}
	var kib int64
	if _, err := fmt.Sscan(procField("/proc/meminfo", "MemTotal"), &kib); err == nil {
		m.Memory = fmt.Sprintf("%.1f GiB", float64(kib)/(1<<20))
	}
	return m
}

// procField is the value of the first line "name : value" of a file.
func procField(path, name string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// firstWords are the first n words of a file.
func firstWords(path string, n int) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	words := strings.Fields(string(text))
	return strings.Join(words[:min(n, len(words))], " ")
}
