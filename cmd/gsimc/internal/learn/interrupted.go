package learn

import (
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
)

// untilInterrupted runs work that knows no context. At an interrupt it returns at once, with an
// error that says what was kept; the work goes on until the process ends, which is next.
func untilInterrupted(p progress.Progress, kept string, work func() error) error {
	ctx, stop := cli.InterruptContext()
	defer stop()
	done := make(chan error, 1)
	go func() { done <- work() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		p.End()
		return cli.Interrupted("%s", kept)
	}
}
