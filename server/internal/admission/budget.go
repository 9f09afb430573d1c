package admission

import (
	"context"
	"sync"
)

// Budget is an amount that many share, such as bytes of memory. A caller that takes more than is
// left waits. It is safe for concurrent use.
type Budget struct {
	mu     sync.Mutex
	left   int
	change chan struct{} // closed when something is given back
}

// NewBudget returns a budget of this amount.
func NewBudget(amount int) *Budget { return &Budget{left: amount, change: make(chan struct{})} }

// Take waits until something is left, and takes n, even if that is more: what is left is then
// negative, and all others wait. So no amount waits for ever. The error is that of ctx.
func (b *Budget) Take(ctx context.Context, n int) error {
	for {
		b.mu.Lock()
		if b.left > 0 {
			b.left -= n
			b.mu.Unlock()
			return nil
		}
		change := b.change
		b.mu.Unlock()
		select {
		case <-change:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Give gives n back.
func (b *Budget) Give(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.left
	b.left += n
	if before <= 0 && b.left > 0 {
		close(b.change)
		b.change = make(chan struct{})
	}
}
