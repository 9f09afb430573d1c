package main

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"github.com/gsimc/gsimc/dataset"
	"github.com/gsimc/gsimc/dynamics"
	"github.com/gsimc/gsimc/evaluate"
	"github.com/gsimc/gsimc/internal/cost"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/spectral"
)

// planFlags are about what a training needs, before it is done.
type planFlags struct {
	Plan        bool     `group:"Resources:" help:"Read the events, print how much time and memory each stage of the training takes, and end. Nothing is written."`
	MemoryLimit byteSize `group:"Resources:" default:"0" placeholder:"SIZE" help:"Refuse a training that needs more memory than this, such as 8GiB. Default: the limit of the control group, or else the memory of the machine."`
}

// collectAt is the percentage by which the heap of a training grows before garbage is collected. Its memory is a few large
// arrays without pointers, so that collecting costs next to nothing, and what is needed is what is used.
const collectAt = 20

// garbageShare is what the process has in the mean beyond what it holds.
const garbageShare = 0.2

// limitTraining sets the collector up for a training, within a limit that is given by a flag, until restore is called. GOGC
// and GOMEMLIMIT stand.
func limitTraining(env []string, limit byteSize) (restore func()) {
	percent, bytes := -1, int64(-1) // as they were
	given := func(name string) bool {
		return slices.ContainsFunc(env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
	}
	if !given("GOGC") {
		percent = debug.SetGCPercent(collectAt)
	}
	if limit > 0 && !given("GOMEMLIMIT") {
		bytes = debug.SetMemoryLimit(int64(limit) / 10 * 9)
	}
	return func() {
		if percent >= 0 {
			debug.SetGCPercent(percent)
		}
		debug.SetMemoryLimit(bytes) // below 0: as it is
	}
}

// plan is what is left to do of a training when its events have been dealt out.
type plan struct {
	read   int64   // bytes that reading took at its peak
	held   float64 // bytes before
	stages []cost.Stage
	limit  int64 // bytes that there are, 0: not known
}

func (c *trainCmd) plan(part *dataset.Partition) *plan {
	n := len(part.Items)
	opt := c.solverOptions(n)
	stages := spectral.Cost(evaluate.Incidence(part), opt)
	spec := c.spec()
	basis := 8 * float64(n) * float64(opt.Rank)
	single, perItem := basis/2, 4*float64(n)*float64(opt.Rank)
	if spec.Dynamics.Kind == model.DynamicsLearned {
		shape := learningShape(part, spec.Dynamics, opt.Rank)
		stages = append(stages, cost.Stage{Name: "model", Peak: 2 * single, Kept: 2 * single})
		stages = append(stages, shape.RegressionCost()...)
		if spec.Dynamics.Deviation {
			stages = append(stages, shape.NoiseCost())
		}
		perItem *= 1 + float64(len(spec.Dynamics.Bands))
	} else {
		stages = append(stages, cost.Stage{Name: "model", Peak: single, Kept: single})
	}
	var write cost.Work
	write[cost.Hash], write[cost.Stream] = perItem, 4*perItem
	stages = append(stages, cost.Stage{Name: "model file", Work: write})
	return &plan{read: peakRSS(), held: heldMemory(), stages: stages, limit: memoryLimit(c.MemoryLimit)}
}

// learningShape is what the cost of learned dynamics depends on.
func learningShape(part *dataset.Partition, spec model.DynamicsSpec, rank int) dynamics.Shape {
	s := dynamics.Shape{Items: len(part.Items), Rank: rank, Bands: spec.Bands}
	s.Weighted = slices.ContainsFunc(part.Train.Weight, func(w float32) bool { return w != 1 })
	for u := range part.Train.Len() {
		if d := len(part.Train.Of(u)); d >= 2 {
			s.Events += d
			s.Longest = max(s.Longest, d)
		}
	}
	from := &part.Validation
	if from.Len() < fewUsers {
		from = &part.Train
	}
	lengths := make([]int, from.Len())
	for u := range lengths {
		lengths[u] = len(from.Of(u))
	}
	s.Measured = dynamics.Measured(lengths)
	return s
}

// heldMemory is what the Go runtime holds of the operating system after a collection.
func heldMemory() float64 {
	debug.FreeOSMemory()
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return float64(s[0].Value.Uint64() - s[1].Value.Uint64())
}

// peak is the memory that the training needs, and the stage that needs it.
func (p *plan) peak() (bytes int64, stage string) {
	most, at := cost.Peak(p.held, p.stages)
	return int64(most * (1 + garbageShare)), p.stages[at].Name
}

// check refuses a training that does not fit.
func (p *plan) check() error {
	need, stage := p.peak()
	if p.limit == 0 || need <= p.limit {
		return nil
	}
	lower := "a lower --rank"
	if strings.HasPrefix(stage, "dynamics") {
		lower += ", fewer --bands"
	}
	return fmt.Errorf("the training needs about %s of memory, in the stage %q, and there are %s: choose %s, leave out rare items "+
		"(--min-item-events), or raise --memory-limit if there is more", bytesText(need), stage, bytesText(p.limit), lower)
}

// print writes the table; reading tells the time that reading took.
func (p *plan) print(a *app, reading time.Duration) {
	speed := calibrate()
	rows := [][]string{{"stage", "time", "memory"}, {"reading (done)", seconds(reading.Seconds()), bytesText(p.read)}}
	total, held := reading.Seconds(), p.held
	for _, s := range p.stages {
		took := speed.Seconds(s.Work)
		rows = append(rows, []string{s.Name, seconds(took), bytesText(int64((held + s.Peak) * (1 + garbageShare)))})
		total += took
		held += s.Kept
	}
	need, _ := p.peak()
	rows = append(rows, []string{"total", seconds(total), bytesText(max(need, p.read))})
	if p.limit > 0 {
		rows = append(rows, []string{"there is", "", bytesText(p.limit)})
	}
	printTable(a.stdout, rows, 1, 2)
	a.printf("on %d processors with %.0f and %.0f GFLOP/s (float32, float64), %.1f GB/s, %.0f M rows/s\n", runtime.GOMAXPROCS(0),
		speed[cost.Single]/1e9, speed[cost.Double]/1e9, speed[cost.Stream]/1e9, speed[cost.Gather]/1e6)
}

// seconds formats an estimate.
func seconds(s float64) string {
	switch {
	case s >= 100:
		return time.Duration(math.Round(s) * 1e9).String()
	case s >= 10:
		return fmt.Sprintf("%.0fs", s)
	}
	return fmt.Sprintf("%.1fs", s)
}

// memoryLimit is the memory that this process may have: what the flag says, or else the least of the limit of the control
// group and the memory of the machine; 0 if nobody knows.
func memoryLimit(flag byteSize) int64 {
	if flag > 0 {
		return int64(flag)
	}
	limit := machineMemory()
	if group, ok := groupMemory(); ok && (limit == 0 || group < limit) {
		limit = group
	}
	return limit
}
