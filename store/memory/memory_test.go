package memory_test

import (
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/memory"
	"github.com/gsimc/gsimc/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(testing.TB) store.Store { return memory.New() })
}

func TestModel(t *testing.T) {
	seeds := soak.Times(5)
	if soak.Brief() {
		seeds = 1
	}
	for seed := range uint64(seeds) {
		s := storetest.Model(t, memory.New(), seed, 2000, nil)
		check.Pass(t, s.Close(), "Close")
	}
}
