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

// step begins the next step of a stage: done of its steps have ended.
func (p *progress) step(stage string, done, total int) {
	p.begin(fmt.Sprintf("%s: %d of %d", stage, done+1, total))
}
