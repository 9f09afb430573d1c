package train

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/data"
	"github.com/gsimc/gsimc/learn/train"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/learn/dataset"
)

// planFlags are about what a training needs, before it is done.
type planFlags struct {
	Plan        bool         `group:"Resources:" help:"Read the events, print how much time and memory each stage of the training takes, and end. Nothing is written."`
	MemoryLimit cli.ByteSize `group:"Resources:" default:"0" placeholder:"SIZE" help:"Refuse a training that needs more memory than this, such as 8GiB. Default: the limit of the control group, or else the memory of the machine."`
}

// collectAt is the percentage by which the heap of a training grows before garbage is collected.
// Its memory is a few large arrays without pointers, so that collecting costs next to nothing, and
// what is needed is what is used.
const collectAt = 20

// limitTraining sets the collector up for a training, within a limit that is given by a flag, until
// restore is called. GOGC and GOMEMLIMIT stand.
func limitTraining(env []string, limit cli.ByteSize) (restore func()) {
	collectAsBefore := cli.CollectAt(env, collectAt, 0)
	bytes := int64(-1) // as it was
	if _, given := cli.Variable(env, "GOMEMLIMIT"); limit > 0 && !given {
		bytes = debug.SetMemoryLimit(int64(limit) / 10 * 9)
	}
	return func() {
		collectAsBefore()
		debug.SetMemoryLimit(bytes) // below 0: as it is
	}
}

// plan is a plan on this machine.
type plan struct {
	*train.Plan
	read  int64   // bytes that reading took at its peak
	held  float64 // bytes before
	limit int64   // bytes that there are, 0: not known
}

func (c *Cmd) plan(part *dataset.Partition, cfg *train.Config) *plan {
	todo := train.NewPlan(part, *cfg)
	return &plan{
		Plan: todo, read: cli.PeakRSS(), held: cli.HeldMemory(),
		limit: cli.MemoryLimit(c.MemoryLimit),
	}
}

// check refuses a training that does not fit.
func (p *plan) check() error {
	need, stage := p.Peak(p.held)
	if p.limit == 0 || need <= p.limit {
		return nil
	}
	return &fault.Fault{
		Field: "MemoryLimit", Advice: train.Advice(stage),
		Problem: fmt.Sprintf(
			"the training needs about %s of memory, in the stage %q, and there are %s",
			cli.BytesText(need), stage, cli.BytesText(p.limit)),
	}
}

// print writes the table; reading tells the time that reading took.
func (p *plan) print(a *cli.App, reading time.Duration) {
	speed, faster := data.MeasuredSpeed()
	rows := [][]string{
		{"stage", "time", "memory"},
		{"reading (done)", cli.SecondsText(reading.Seconds()), cli.BytesText(p.read)},
	}
	total, held := reading.Seconds(), p.held
	for _, s := range p.Stages {
		took := s.Seconds / faster
		rows = append(rows, []string{
			s.Name, cli.SecondsText(took), cli.BytesText(train.Memory(held + s.Peak)),
		})
		total += took
		held += s.Kept
	}
	need, _ := p.Peak(p.held)
	rows = append(rows, []string{"total", cli.SecondsText(total), cli.BytesText(max(need, p.read))})
	if p.limit > 0 {
		rows = append(rows, []string{"there is", "", cli.BytesText(p.limit)})
	}
	cli.PrintTable(a.Stdout, rows, 1, 2)
	a.Printf("\nthe times are estimated from one speed, measured on %d processors:\n"+
		"%.0f billion operations a second in matrix products in single precision\n",
		runtime.GOMAXPROCS(0), speed/1e9)
}
