package main

import (
	"context"
	"errors"
	"time"
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
	b.progress.begin("writing the items")
	suite := b.suite(s)
	err = s.client.LoadCatalogue(ctx, &suite.Traffic, 0, len(s.items),
		func(int, time.Duration) {})
	if err != nil {
		return err
	}
	defer func() { b.report.Series = suite.Series() }()
	return suite.Filters(ctx)
}
