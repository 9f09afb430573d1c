package main

import (
	"context"
	"errors"
	"time"
)

// catalogueScenario is not part of all: it fills the catalogue of the server.
const catalogueScenario = "catalogue"

// catalogue measures a catalogue of all items, and of more if --catalogue says so: how it is
// written, what filters cost over it, and how long a server with it takes to start.
func (b *bench) catalogue(ctx context.Context) (err error) {
	path, err := b.givenModel()
	if err != nil {
		return err
	}
	s, err := b.start(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := b.load(ctx, s, 0, b.Users); err != nil {
		return err
	}
	suite := b.suite(s)
	defer func() { b.report.Series = suite.Series() }()
	restart := func(name string) error {
		if err := s.close(ctx); err != nil {
			return err
		}
		begun := time.Now()
		again, err := b.start(ctx, path)
		if err != nil {
			s = &subject{} // closed
			return err
		}
		*s = *again
		suite.Startup(name, time.Since(begun))
		anew := b.suite(s)
		suite.Server, suite.Traffic = anew.Server, anew.Traffic
		suite.RSS, suite.Settle = anew.RSS, anew.Settle
		return nil
	}
	for _, step := range []func() error{
		func() error { return restart("start without items") },
		func() error { return suite.Catalogue(ctx, max(b.Catalogue, len(s.items))) },
		func() error { return restart("start with the items") },
		func() error { suite.MemoryAfterStart(); return suite.Filters(ctx) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
