package main

import (
	"context"
	"fmt"
	"io"
	"time"
)

// patience is the longest time without a byte, or for an answer to the last one.
const patience = 2 * time.Minute

// moving is a transfer that ends when nothing moves for long.
type moving struct {
	ctx      context.Context
	patience time.Duration
	timer    *time.Timer
}

// whileMoving returns the context of a transfer.
func whileMoving(ctx context.Context, patience time.Duration) (context.Context, *moving) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &moving{ctx, patience, time.AfterFunc(patience, func() {
		cancel(fmt.Errorf("nothing moved for %v", patience))
	})}
}

// reader is a reader whose bytes are movement.
func (m *moving) reader(of io.Reader) io.Reader { return &moved{of, m} }

type moved struct {
	io.Reader
	by *moving
}

func (r *moved) Read(p []byte) (int, error) {
	r.by.timer.Reset(r.by.patience)
	return r.Reader.Read(p)
}

// why is the cause of an error.
func (m *moving) why(err error) error {
	if err != nil && m.ctx.Err() != nil {
		return context.Cause(m.ctx)
	}
	return err
}

func (m *moving) end() { m.timer.Stop() }
