package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/gsimc/gsimc/bench/internal/ceiling"
	"github.com/gsimc/gsimc/bench/internal/python"
	"github.com/gsimc/gsimc/bench/internal/result"
	"github.com/gsimc/gsimc/bench/internal/rounds"
	"github.com/gsimc/gsimc/internal/num/gemm"
)

const ownProduct = "gsimc internal/gemm"

// measureGEMM multiplies square matrices on one core and on all.
func measureGEMM(s *session) error {
	threads := []int{1}
	if runtime.NumCPU() > 1 {
		threads = append(threads, runtime.NumCPU())
	}
	for _, t := range threads {
		if err := s.products(t); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) products(threads int) (err error) {
	workers, err := s.startPythons(threads)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll(workers)) }()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
	n := pick(s, 2000, 300)
	for _, bits := range []int{32, 64} {
		g := result.Group{
			Title: fmt.Sprintf("C += AB, float%d, n = %d, %d thread(s)", bits, n, threads),
			Params: map[string]float64{
				"n":       float64(n),
				"bits":    float64(bits),
				"threads": float64(threads),
			},
			Unit: "GFLOP/s", Higher: true, Ours: ownProduct,
		}
		if threads > 1 {
			g.Remarks = "OpenBLAS keeps its threads spinning between calls, " +
				"so its figure falls when anything else runs."
		}
		contestants := s.ownProducts(n, bits)
		for _, w := range workers {
			contestants = append(contestants, s.numpyProduct(w, n, bits))
		}
		if ceiling.Available() {
			contestants = append(contestants, s.peak(bits, threads))
		}
		if err := s.compete(g, contestants); err != nil {
			return err
		}
	}
	return nil
}

// ownProducts are gsimc's and gonum's products.
func (s *session) ownProducts(n, bits int) []rounds.Contestant {
	var own, gonum func()
	if bits == 32 {
		a, b, c := random[float32](n), random[float32](n), make([]float32, n*n)
		m := func(x []float32) gemm.Matrix[float32] {
			return gemm.Matrix[float32]{Rows: n, Cols: n, Data: x, Stride: n}
		}
		own = func() { gemm.MulAdd(m(c), 1, gemm.Plain, m(a), gemm.Plain, m(b)) }
		g := func(x []float32) blas32.General {
			return blas32.General{Rows: n, Cols: n, Data: x, Stride: n}
		}
		gonum = func() { blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, g(a), g(b), 1, g(c)) }
	} else {
		a, b, c := random[float64](n), random[float64](n), make([]float64, n*n)
		m := func(x []float64) gemm.Matrix[float64] {
			return gemm.Matrix[float64]{Rows: n, Cols: n, Data: x, Stride: n}
		}
		own = func() { gemm.MulAdd(m(c), 1, gemm.Plain, m(a), gemm.Plain, m(b)) }
		g := func(x []float64) blas64.General {
			return blas64.General{Rows: n, Cols: n, Data: x, Stride: n}
		}
		gonum = func() { blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, g(a), g(b), 1, g(c)) }
	}
	rate := func(product func()) func() (float64, error) {
		return func() (float64, error) {
			seconds, err := rounds.Median(s.use(), func(int) error { product(); return nil })
			return gigaflops(n, seconds), err
		}
	}
	return []rounds.Contestant{
		{Name: ownProduct, Role: result.Own, Run: rate(own)},
		{Name: "gonum", Role: result.Peer, Run: rate(gonum)},
	}
}

func random[T gemm.Float](n int) []T {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	x := make([]T, n*n)
	for i := range x {
		x[i] = T(rng.Float64())
	}
	return x
}

// gigaflops is the rate of a product of n×n matrices that takes the given time.
func gigaflops(n int, seconds float64) float64 {
	return 2 * float64(n) * float64(n) * float64(n) / seconds / 1e9
}

func (s *session) numpyProduct(w *python.Worker, n, bits int) rounds.Contestant {
	return rounds.Contestant{
		Name: "NumPy " + w.Versions.NumPy + ", OpenBLAS",
		Role: result.Peer,
		Run: func() (float64, error) {
			var reply struct{ Seconds float64 }
			err := w.Call(
				"product.gemm",
				map[string]any{
					"n":     n,
					"dtype": fmt.Sprint("float", bits),
					"use":   s.use().Seconds(),
				},
				&reply,
			)
			return gigaflops(n, reply.Seconds), err
		},
	}
}

// peak is what the cores complete when nothing comes from memory.
func (s *session) peak(bits, threads int) rounds.Contestant {
	run := ceiling.FMA32
	if bits == 64 {
		run = ceiling.FMA64
	}
	return rounds.Contestant{
		Name: "fused multiply-adds in registers",
		Role: result.Limit,
		Run: func() (float64, error) {
			var mu sync.Mutex
			var total float64
			var wg sync.WaitGroup
			for range threads {
				wg.Go(func() {
					begin, done := time.Now(), 0.0
					for time.Since(begin) < s.use() {
						done += run(100_000)
					}
					rate := done / time.Since(begin).Seconds() / 1e9
					mu.Lock()
					defer mu.Unlock()
					total += rate
				})
			}
			wg.Wait()
			return total, nil
		},
	}
}
