package server

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/spectral"
	"github.com/gsimc/gsimc/store/memory"
)

// BenchmarkObserveCost is one Observe, from the validated message to the folded
// state, without network and disk, for users whose state is cached. The time
// grows with the rank k and not with the number of items n.
func BenchmarkObserveCost(b *testing.B) {
	for _, n := range []int{20_000, 200_000} {
		for _, k := range []int{64, 256, 1000} {
			b.Run(fmt.Sprintf("n=%d/k=%d", n, k),
				func(b *testing.B) { benchmarkObserveCost(b, n, k) })
		}
	}
}

// BenchmarkObserveCostMeasured is the same while the ranks of a share of the events are measured
// beside it.
func BenchmarkObserveCostMeasured(b *testing.B) {
	m := randomModel(b, 20_000, 256)
	for _, share := range []float64{0, 0.01, 1} {
		b.Run(fmt.Sprintf("share=%v", share), func(b *testing.B) { benchmarkObserve(b, m, share) })
	}
}

func benchmarkObserveCost(b *testing.B, n, k int) { benchmarkObserve(b, randomModel(b, n, k), 0) }

func benchmarkObserve(b *testing.B, m *model.Model, share float64) {
	n := m.NumItems()
	cfg := DefaultConfig()
	cfg.StateCacheBytes = 1 << 30
	cfg.QualitySample = share
	s, err := New(cfg, memory.New(), func() (*model.Model, error) { return m, nil })
	must(b, err)
	go s.quality.Run(b.Context())
	const users = 256
	requests := make([]*pb.ObserveRequest, users)
	for u := range requests {
		requests[u] = &pb.ObserveRequest{Event: &pb.Event{UserId: fmt.Sprint("user ", u)}}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	service := s.services.events
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		e := requests[i%users].GetEvent()
		e.EventId, e.ItemId = strconv.Itoa(i), m.ItemID(int32(rng.IntN(n)))
		if _, err := service.Observe(b.Context(), requests[i%users]); err != nil {
			b.Fatal(err)
		}
	}
}

// randomModel has n items and a random basis of rank k: the cost of an update
// does not depend on the values.
func randomModel(b testing.TB, n, k int) *model.Model {
	b.Helper()
	basis := &spectral.Basis{N: n, K: k, U: make([]float64, n*k), Kappa: make([]float64, k),
		Lambda: make([]float64, k), Degrees: make([]int64, n),
		Scale: make([]float64, n)}
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range basis.U {
		basis.U[i] = rng.Float64() - 0.5
	}
	for j := range k {
		basis.Kappa[j] = 1 - float64(j)/float64(k)
		basis.Lambda[j] = 1 - basis.Kappa[j]
	}
	items := make([]string, n)
	for i := range items {
		items[i], basis.Degrees[i] = fmt.Sprintf("item %08d", i), 1
	}
	spec := model.DefaultSpec()
	spec.TrainUsers = 1
	m, err := model.New(spec, basis, items, fit.Histories{})
	must(b, err)
	return m
}
