// Package peak measures the peak speed of a core: its loops do nothing but fused multiply-adds on
// registers. The benchmarks of package gemm run these loops and the products in turns, because the
// clock and the load of a core change from one second to the next. No other code imports this
// package, so no program contains it.
package peak

// A Loop is the loop of one kernel of package gemm for one type of element.
type Loop struct {
	kernel string
	run    func(rounds int)
	flops  int // of a round; a multiply-add counts as two
}

// Float32 returns the loop of the float32 kernel with that name, and false if it has none. The
// plain Go kernel has none: its peak depends on the compiler.
func Float32(kernel string) (Loop, bool) { return find(loops32, kernel) }

// Float64 is Float32 for float64.
func Float64(kernel string) (Loop, bool) { return find(loops64, kernel) }

// Run does about the given number of operations, at least one round, and returns their number. The
// zero Loop does none.
func (l Loop) Run(flops float64) (done float64) {
	if l.run == nil {
		return 0
	}
	rounds := 1 + int(flops)/l.flops
	l.run(rounds)
	return float64(rounds) * float64(l.flops)
}

func find(loops []Loop, kernel string) (Loop, bool) {
	for _, l := range loops {
		if l.kernel == kernel {
			return l, true
		}
	}
	return Loop{}, false
}
