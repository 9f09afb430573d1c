package bench

import (
	"context"
	"errors"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
)

// filters measures filters by categories against one server, whose items have them.
func (b *bench) filters(ctx context.Context) (err error) {
	s, err := b.startGiven(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := b.load(ctx, s, 0, b.Users); err != nil {
		return err
	}
	b.stage = "writing the items"
	b.progress.Begin(b.stage, progress.Rows)
	suite := b.suite(s)
	err = s.client.LoadCatalogue(ctx, &suite.Traffic, 0, len(s.items),
		func(items int, _ time.Duration) {
			b.progress.Update(int64(items), int64(len(s.items)))
		})
	if err != nil {
		return err
	}
	defer func() { b.report.Series = suite.Series() }()
	return suite.Filters(ctx)
}
