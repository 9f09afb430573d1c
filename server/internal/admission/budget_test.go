package admission

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
)

func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(10)
		for range 2 { // the second takes more than there is
			must(t, b.Take(t.Context(), 8))
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.Take(short, 1); err == nil {
			t.Error("an empty budget gave something")
		}
		begin := time.Now()
		go func() {
			time.Sleep(time.Second)
			b.Give(8)
		}()
		check.Must(t, b.Take(t.Context(), 1))
		check.Same(t, time.Second, time.Since(begin), "time that it took")
	})
}
