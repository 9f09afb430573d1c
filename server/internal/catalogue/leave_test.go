package catalogue

import (
	"context"
	"errors"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/servertest"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
)

// leavingStore lets the caller of a write leave while the write is under way.
type leavingStore struct {
	store.Items
	leave context.CancelFunc
}

func (s *leavingStore) Item(ctx context.Context, id string) (store.Item, bool, error) {
	s.leave()
	return s.Items.Item(ctx, id)
}

func (s *leavingStore) DeleteItems(ctx context.Context, ids []string) error {
	s.leave()
	return s.Items.DeleteItems(ctx, ids)
}

// A write that its caller has left goes on, and shares no memory with what the caller got, which
// the race detector would see here.
func TestCallersLeave(t *testing.T) {
	st := &leavingStore{Items: memory.New()}
	c, _ := open(t, st, servertest.Now, Bounds{})
	id := servertest.Item(1)
	for range 50 {
		for size, write := range []func(context.Context) (int, error){
			0: func(ctx context.Context) (int, error) { return c.Delete(ctx, []string{id}) },
			1: func(ctx context.Context) (int, error) {
				return c.Upsert(ctx, Change{IDs: []string{id},
					Apply: func(int, *store.Item) error { return nil }})
			},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			st.leave = cancel
			if n, err := write(ctx); err != nil && (n != 0 || !errors.Is(err, context.Canceled)) {
				t.Errorf("%d, %v, want the end of the context", n, err)
			}
			c.writing <- struct{}{} // the write has ended
			<-c.writing
			check.Same(t, size, c.Size(), "items")
		}
	}
}
