package main

import (
	"fmt"
	"io"
)

// progress writes a line at the begin of each stage and of each of its steps; to nil, none.
type progress struct {
	out io.Writer
}

// begin begins a stage.
func (p *progress) begin(stage string) {
	if p.out != nil {
		fmt.Fprintln(p.out, stage)
	}
}

// step begins a step of a stage, after those that are done.
func (p *progress) step(stage string, done, total int) {
	p.begin(fmt.Sprintf("%s: %d of %d", stage, done+1, total))
}
