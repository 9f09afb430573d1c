package result

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/cpu"

	"github.com/gsimc/gsimc/internal/gemm"
	"github.com/gsimc/gsimc/internal/vec"
)

// Machine is where something was measured.
type Machine struct {
	Processor string
	Cores     int
	MemoryGiB float64
	System    string  // operating system and architecture
	Go        string  // version
	Kernels   string  // of our own, as chosen by processor and GSIMC_CPU
	Load      float64 // average number of running processes in the minute before: above 0.5 something else ran
}

// ThisMachine describes the machine at hand; what it does not tell is left empty.
func ThisMachine() Machine {
	m := Machine{
		Processor: field("/proc/cpuinfo", "model name"), Cores: runtime.NumCPU(),
		System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
		Kernels: "scan " + vec.KernelName() + ", products " + gemm.KernelName(),
	}
	if kib, err := strconv.ParseFloat(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"), 64); err == nil {
		m.MemoryGiB = kib / (1 << 20)
	}
	if raw, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(raw), " ")
		m.Load, _ = strconv.ParseFloat(first, 64)
	}
	return m
}

// HasAVX512 reports whether OpenBLAS may be told to use its AVX-512 kernels.
func HasAVX512() bool { return cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL }

// field returns the value of the first line "name : value" of a file, or "".
func field(path, name string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // only read
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
