package result

import (
	"fmt"

	"golang.org/x/sys/cpu"

	"github.com/gsimc/gsimc/bench/internal/loadtest"
	"github.com/gsimc/gsimc/internal/num/gemm"
	"github.com/gsimc/gsimc/internal/num/vec"
)

// ThisMachine describes the machine at hand and the kernels that this version of gsimc has chosen
// on it.
func ThisMachine(version string) loadtest.Machine {
	return loadtest.ThisMachine(version, "scan "+vec.KernelName()+", products "+gemm.KernelName())
}

// MemoryBytes is the memory of a machine; 0 if it does not say.
func MemoryBytes(m loadtest.Machine) float64 {
	var gib float64
	if _, err := fmt.Sscanf(m.Memory, "%f GiB", &gib); err != nil {
		return 0
	}
	return gib * (1 << 30)
}

// HasAVX512 reports whether OpenBLAS may be told to use its AVX-512 kernels.
func HasAVX512() bool { return cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL }
